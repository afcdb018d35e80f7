package authmgmttest_test

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// accepts makes a refusal of a creation look like a success.
func accepts(err, refusal error) error {
	if errors.Is(err, refusal) {
		return nil
	}
	return err
}

// clientMutants are wrong about IDs, digests and deletion.
var clientMutants = []broken{
	{name: "says nothing about what is there", breaks: []string{
		"clients/create-refuses-an-id-that-is-taken", "clients/create-refuses-a-deleted-id", "clients/create-refuses-a-stored-digest", "clients/create-concurrent",
		"tokens/create-refuses-an-id-that-is-taken", "tokens/create-refuses-a-stored-digest", "tokens/create-concurrent",
		"invitations/create-refuses-an-id-that-is-taken", "invitations/create-concurrent", "clients/update-adds-a-digest",
		"pruner/tokens-that-never-expire", "store/durable-constraints",
	}, mutate: func(m *mutant) {
		m.createClient = func(ctx context.Context, c authmgmt.Client, e authmgmt.AuditEvent) error {
			return accepts(m.AuthMgmt.CreateClient(ctx, c, e), authmgmt.ErrExists)
		}
		m.createToken = func(ctx context.Context, k authmgmt.Token, e authmgmt.AuditEvent) error {
			return accepts(m.AuthMgmt.CreateToken(ctx, k, e), authmgmt.ErrExists)
		}
		m.createInvitation = func(ctx context.Context, i authmgmt.Invitation, exclusive bool, e authmgmt.AuditEvent) error {
			return accepts(m.AuthMgmt.CreateInvitation(ctx, i, exclusive, e), authmgmt.ErrExists)
		}
	}},
	{name: "revives deleted clients", breaks: []string{
		"clients/create-refuses-a-deleted-id", "store/durable-absence",
	}, mutate: func(m *mutant) {
		m.createClient = func(ctx context.Context, c authmgmt.Client, e authmgmt.AuditEvent) error {
			err := m.AuthMgmt.CreateClient(ctx, c, e)
			if _, gone := m.AuthMgmt.Client(ctx, c.Organization, c.ID); gone != nil {
				return accepts(err, authmgmt.ErrExists)
			}
			return err
		}
	}},
	{name: "looks for digests within the organization", breaks: []string{
		"clients/create-refuses-a-stored-digest", "clients/update-adds-a-digest", "clients/digest-concurrent",
	}, mutate: func(m *mutant) {
		m.createClient = func(ctx context.Context, c authmgmt.Client, e authmgmt.AuditEvent) error {
			conformance.Seam() // until a client that was changed has the digest
			for _, secret := range c.Secrets {
				if other, err := m.AuthMgmt.ClientBySecret(ctx, secret.Digest); err == nil && other.Organization != c.Organization {
					return nil
				}
			}
			return m.AuthMgmt.CreateClient(ctx, c, e)
		}
	}},
	{name: "looks at the first secret only", breaks: []string{
		"clients/create-refuses-a-stored-digest", "clients/digest-concurrent",
	}, mutate: func(m *mutant) {
		m.createClient = func(ctx context.Context, c authmgmt.Client, e authmgmt.AuditEvent) error {
			err := m.AuthMgmt.CreateClient(ctx, c, e)
			if errors.Is(err, authmgmt.ErrExists) && len(c.Secrets) > 1 {
				c.Secrets = c.Secrets[:1]
				err = m.AuthMgmt.CreateClient(ctx, c, e)
			}
			return err
		}
	}},
	{name: "takes the first of two secrets with one digest", breaks: []string{"clients/digest-is-there-once"}, mutate: func(m *mutant) {
		once := func(secrets []authmgmt.ClientSecret) []authmgmt.ClientSecret {
			return slices.CompactFunc(secrets, func(a, b authmgmt.ClientSecret) bool { return a.Digest == b.Digest })
		}
		m.createClient = func(ctx context.Context, c authmgmt.Client, e authmgmt.AuditEvent) error {
			c.Secrets = once(c.Secrets)
			return m.AuthMgmt.CreateClient(ctx, c, e)
		}
		m.updateClient = func(ctx context.Context, org, id string, update clientUpdate) error {
			return m.AuthMgmt.UpdateClient(ctx, org, id, func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
				e, err := update(c)
				c.Secrets = once(c.Secrets)
				return e, err
			})
		}
	}},
	{name: "looks for digests when a client is made", breaks: []string{
		"clients/update-refuses-a-stored-digest", "clients/digest-concurrent",
	}, mutate: func(m *mutant) {
		m.updateClient = func(ctx context.Context, org, id string, update clientUpdate) error {
			return accepts(m.AuthMgmt.UpdateClient(ctx, org, id, update), authmgmt.ErrExists)
		}
	}},
	{name: "takes its own digests for another's", breaks: []string{
		"clients/update-keeps-own-digests", "clients/update-stores-what-it-leaves", "tokens/stay-with-their-digest",
	}, mutate: func(m *mutant) {
		m.updateClient = func(ctx context.Context, org, id string, update clientUpdate) error {
			return m.AuthMgmt.UpdateClient(ctx, org, id, func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
				before := slices.Clone(c.Secrets)
				e, err := update(c)
				if err == nil && !slices.Equal(before, c.Secrets) && len(c.Secrets) > 1 {
					err = authmgmt.ErrExists
				}
				return e, err
			})
		}
	}},
	{name: "keeps digests that were removed", breaks: []string{
		"clients/update-frees-a-removed-digest", "clients/deleted-has-no-secrets",
	}, mutate: func(m *mutant) {
		var mu sync.Mutex
		used := make(map[[32]byte]bool)
		m.createClient = func(ctx context.Context, c authmgmt.Client, e authmgmt.AuditEvent) error {
			mu.Lock()
			defer mu.Unlock()
			for _, secret := range c.Secrets {
				if used[secret.Digest] {
					return authmgmt.ErrExists
				}
				used[secret.Digest] = true
			}
			return m.AuthMgmt.CreateClient(ctx, c, e)
		}
	}},
	{name: "finds only secrets that work", breaks: []string{
		"clients/by-secret-ended", "clients/create-stores-every-field",
	}, mutate: func(m *mutant) {
		m.clientBySecret = func(ctx context.Context, digest [32]byte) (authmgmt.Client, error) {
			c, err := m.AuthMgmt.ClientBySecret(ctx, digest)
			for _, secret := range c.Secrets {
				if secret.Digest == digest && !secret.ExpiresAt.IsZero() {
					return authmgmt.Client{}, authmgmt.ErrNotFound
				}
			}
			return c, err
		}
	}},
	{name: "shows deleted clients", breaks: []string{
		"clients/delete-ends-it", "clients/deleted-has-no-secrets", "clients/create-refuses-a-deleted-id", "store/durable-absence",
	}, mutate: func(m *mutant) {
		deleted := make(map[string]authmgmt.Client)
		digests := make(map[[32]byte]authmgmt.Client)
		m.updateClient = func(ctx context.Context, org, id string, update clientUpdate) error {
			return m.AuthMgmt.UpdateClient(ctx, org, id, func(c *authmgmt.Client) (authmgmt.AuditEvent, error) {
				e, err := update(c)
				if !c.DeletedAt.IsZero() {
					deleted[org+"/"+id] = c.Clone()
					for _, secret := range c.Secrets {
						digests[secret.Digest] = c.Clone()
					}
				}
				return e, err
			})
		}
		m.client = func(ctx context.Context, org, id string) (authmgmt.Client, error) {
			if c, ok := deleted[org+"/"+id]; ok {
				return c, nil
			}
			return m.AuthMgmt.Client(ctx, org, id)
		}
		m.clientBySecret = func(ctx context.Context, digest [32]byte) (authmgmt.Client, error) {
			if c, ok := digests[digest]; ok {
				return c, nil
			}
			return m.AuthMgmt.ClientBySecret(ctx, digest)
		}
	}},
}
