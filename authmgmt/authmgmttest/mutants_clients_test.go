package authmgmttest_test

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

// accepts makes a refusal of a creation look like a success.
func accepts(err, refusal error) error {
	if errors.Is(err, refusal) {
		return nil
	}
	return err
}

// accepting makes a refusal of the methods look like a success.
func accepting(refusal error, methods ...string) func(*mutant) {
	return errs(func(err error) error { return accepts(err, refusal) }, methods...)
}

// clientMutants are wrong about IDs, digests and deletion.
var clientMutants = []broken{
	{name: "joins the names of deleted clients", breaks: "clients/names-are-apart",
		mutate: func(m *mutant) { mutate.Joined(&m.On, mortise.ErrNotFound, "Client", "UpdateClient") }},
	{name: "says nothing about what is there",
		breaks: "clients/create-refuses-an-id-that-is-taken clients/create-refuses-a-deleted-id " +
			"clients/create-refuses-a-stored-digest clients/create-concurrent " +
			"tokens/create-refuses-an-id-that-is-taken tokens/create-refuses-a-stored-digest tokens/create-concurrent " +
			"invitations/create-refuses-an-id-that-is-taken invitations/create-concurrent " +
			"clients/update-adds-a-digest pruner/tokens-that-never-expire store/durable-constraints",
		mutate: accepting(mortise.ErrExists, creates...)},
	{name: "revives deleted clients", breaks: "clients/create-refuses-a-deleted-id store/durable-absence",
		mutate: replace("CreateClient", func(m *mutant, ctx context.Context, c authmgmt.Client, e authmgmt.AuditEvent) error {
			err := m.AuthMgmt.CreateClient(ctx, c, e)
			if _, gone := m.AuthMgmt.Client(ctx, c.Organization, c.ID); gone != nil {
				return accepts(err, mortise.ErrExists)
			}
			return err
		})},
	{name: "looks for digests within the organization",
		breaks: "clients/create-refuses-a-stored-digest clients/update-adds-a-digest clients/digest-concurrent",
		mutate: replace("CreateClient", func(m *mutant, ctx context.Context, c authmgmt.Client, e authmgmt.AuditEvent) error {
			conformance.Seam() // until a client that was changed has the digest
			for _, secret := range c.Secrets {
				if other, err := m.AuthMgmt.ClientBySecret(ctx, secret.Digest); err == nil && other.Organization != c.Organization {
					return nil
				}
			}
			return m.AuthMgmt.CreateClient(ctx, c, e)
		})},
	{name: "looks at the first secret only", breaks: "clients/create-refuses-a-stored-digest clients/digest-concurrent",
		mutate: replace("CreateClient", func(m *mutant, ctx context.Context, c authmgmt.Client, e authmgmt.AuditEvent) error {
			err := m.AuthMgmt.CreateClient(ctx, c, e)
			if errors.Is(err, mortise.ErrExists) && len(c.Secrets) > 1 {
				c.Secrets = c.Secrets[:1]
				err = m.AuthMgmt.CreateClient(ctx, c, e)
			}
			return err
		})},
	{name: "takes the first of two secrets with one digest", breaks: "clients/digest-is-there-once", mutate: in(
		func(secrets *[]authmgmt.ClientSecret) {
			*secrets = slices.CompactFunc(*secrets, func(a, b authmgmt.ClientSecret) bool { return a.Digest == b.Digest })
		})},
	{name: "looks for digests when a client is made", breaks: "clients/update-refuses-a-stored-digest clients/digest-concurrent",
		mutate: accepting(mortise.ErrExists, "UpdateClient")},
	{name: "takes its own digests for another's",
		breaks: "clients/update-keeps-own-digests clients/update-stores-what-it-leaves tokens/stay-with-their-digest",
		mutate: updating(func(call *mutate.Call) {
			c := *mutate.Get[*authmgmt.Client](call.In)
			before := slices.Clone(c.Secrets)
			if call.Go(); *call.Err() == nil && !slices.Equal(before, c.Secrets) && len(c.Secrets) > 1 {
				*call.Err() = mortise.ErrExists
			}
		}, "UpdateClient")},
	{name: "keeps digests that were removed", breaks: "clients/update-frees-a-removed-digest clients/deleted-has-no-secrets",
		mutate: func(m *mutant) {
			var mu sync.Mutex
			used := make(map[[32]byte]bool)
			m.On.CreateClient = func(ctx context.Context, c authmgmt.Client, e authmgmt.AuditEvent) error {
				mu.Lock()
				defer mu.Unlock()
				for _, secret := range c.Secrets {
					if used[secret.Digest] {
						return mortise.ErrExists
					}
					used[secret.Digest] = true
				}
				return m.AuthMgmt.CreateClient(ctx, c, e)
			}
		}},
	{name: "finds only secrets that work", breaks: "clients/by-secret-ended clients/create-stores-every-field",
		mutate: around(func(call *mutate.Call) {
			call.Go()
			for _, secret := range mutate.Get[authmgmt.Client](call.Out).Secrets {
				if secret.Digest == *mutate.Get[[32]byte](call.In) && !secret.ExpiresAt.IsZero() {
					*call.Err() = mortise.ErrNotFound
				}
			}
		}, "ClientBySecret")},
	{name: "shows deleted clients",
		breaks: "clients/delete-ends-it clients/deleted-has-no-secrets clients/create-refuses-a-deleted-id store/durable-absence",
		mutate: func(m *mutant) {
			deleted, digests := make(map[string]authmgmt.Client), make(map[[32]byte]authmgmt.Client)
			in(func(c *authmgmt.Client) {
				if !c.DeletedAt.IsZero() {
					deleted[c.Organization+"/"+c.ID] = c.Clone()
					for _, secret := range c.Secrets {
						digests[secret.Digest] = c.Clone()
					}
				}
			}, "UpdateClient")(m)
			m.On.Client = func(ctx context.Context, org, id string) (authmgmt.Client, error) {
				if c, ok := deleted[org+"/"+id]; ok {
					return c, nil
				}
				return m.AuthMgmt.Client(ctx, org, id)
			}
			m.On.ClientBySecret = func(ctx context.Context, digest [32]byte) (authmgmt.Client, error) {
				if c, ok := digests[digest]; ok {
					return c, nil
				}
				return m.AuthMgmt.ClientBySecret(ctx, digest)
			}
		}},
}
