package authmgmttest_test

import (
	"context"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// tokenMutants are wrong about what a token stands on.
var tokenMutants = []broken{
	{name: "stores tokens of whatever secret", breaks: []string{
		"tokens/create-needs-the-secret", "tokens/create-refused-stores-no-event",
	}, mutate: func(m *mutant) {
		m.createToken = func(ctx context.Context, k authmgmt.Token, e authmgmt.AuditEvent) error {
			return accepts(m.AuthMgmt.CreateToken(ctx, k, e), authmgmt.ErrNotFound)
		}
	}},
	{name: "keeps a secret that is no client's", breaks: []string{"tokens/create-keeps-no-secret-of-others"}, mutate: func(m *mutant) {
		secrets := make(map[uuid.UUID][32]byte)
		m.createToken = func(ctx context.Context, k authmgmt.Token, e authmgmt.AuditEvent) error {
			secrets[k.ID] = k.Secret
			return m.AuthMgmt.CreateToken(ctx, k, e)
		}
		m.everyToken(func(k *authmgmt.Token) { k.Secret = secrets[k.ID] })
	}},
	{name: "looks for tokens before secrets", breaks: []string{"tokens/create-looks-for-the-secret-first"}, mutate: func(m *mutant) {
		m.createToken = func(ctx context.Context, k authmgmt.Token, e authmgmt.AuditEvent) error {
			if _, err := m.AuthMgmt.TokenByDigest(ctx, k.Digest); err == nil {
				return authmgmt.ErrExists
			}
			return m.AuthMgmt.CreateToken(ctx, k, e)
		}
	}},
	{name: "looks for the secret, not for whose it is", breaks: []string{"tokens/create-needs-the-secret"}, mutate: func(m *mutant) {
		m.createToken = func(ctx context.Context, k authmgmt.Token, e authmgmt.AuditEvent) error {
			if k.Client != "" {
				if c, err := m.AuthMgmt.ClientBySecret(ctx, k.Secret); err == nil {
					k.Organization, k.Client = c.Organization, c.ID
				}
			}
			return m.AuthMgmt.CreateToken(ctx, k, e)
		}
	}},
	{name: "refuses tokens of ended secrets", breaks: []string{"tokens/create-with-an-ended-secret"}, mutate: func(m *mutant) {
		m.createToken = func(ctx context.Context, k authmgmt.Token, e authmgmt.AuditEvent) error {
			c, err := m.AuthMgmt.ClientBySecret(ctx, k.Secret)
			if err == nil && slices.ContainsFunc(c.Secrets, func(s authmgmt.ClientSecret) bool {
				return s.Digest == k.Secret && !s.ExpiresAt.IsZero() && s.ExpiresAt.Before(k.CreatedAt)
			}) {
				return authmgmt.ErrNotFound
			}
			return m.AuthMgmt.CreateToken(ctx, k, e)
		}
	}},
	{name: "keeps the roles of a client's token", breaks: []string{
		"tokens/create-keeps-no-roles-of-a-client", "tokens/roles-follow-the-client", "tokens/list-roles-follow-the-client",
	}, mutate: func(m *mutant) {
		roles := make(map[uuid.UUID][]access.Role)
		m.createToken = func(ctx context.Context, k authmgmt.Token, e authmgmt.AuditEvent) error {
			roles[k.ID] = slices.Clone(k.Roles)
			return m.AuthMgmt.CreateToken(ctx, k, e)
		}
		m.everyToken(func(k *authmgmt.Token) { k.Roles = slices.Clone(roles[k.ID]) })
	}},
	{name: "keeps no roles at all", breaks: []string{"tokens/own-roles-are-kept"}, mutate: func(m *mutant) {
		m.everyToken(func(k *authmgmt.Token) {
			if k.Client == "" {
				k.Roles = nil
			}
		})
	}},
	{name: "lists tokens without roles", breaks: []string{
		"tokens/list-roles-follow-the-client", "tokens/list-newest-first",
	}, mutate: func(m *mutant) {
		m.listTokens = func(ctx context.Context, org string, p authmgmt.Paging) (authmgmt.Page[authmgmt.Token], error) {
			page, err := m.AuthMgmt.ListTokens(ctx, org, p)
			for i := range page.Items {
				page.Items[i].Roles = nil
			}
			return page, err
		}
	}},
	{name: "hides tokens that have ended", breaks: []string{
		"tokens/by-digest-ended", "tokens/update-changes-the-revocation", "store/durable",
	}, mutate: func(m *mutant) {
		m.tokenByDigest = func(ctx context.Context, digest [32]byte) (authmgmt.Token, error) {
			k, err := m.AuthMgmt.TokenByDigest(ctx, digest)
			if !k.RevokedAt.IsZero() {
				return authmgmt.Token{}, authmgmt.ErrNotFound
			}
			return k, err
		}
	}},
	{name: "leaves the tokens of removed secrets", breaks: []string{
		"tokens/die-with-their-secret", "tokens/die-with-their-client", "tokens/do-not-come-back", "tokens/none-survives-its-secret", "tokens/stay-with-their-digest",
		"store/durable-absence",
	}, mutate: func(m *mutant) {
		var mu sync.Mutex
		kept := make(map[[32]byte]authmgmt.Token)
		m.createToken = func(ctx context.Context, k authmgmt.Token, e authmgmt.AuditEvent) error {
			err := m.AuthMgmt.CreateToken(ctx, k, e)
			if err == nil {
				mu.Lock()
				kept[k.Digest] = k.Clone()
				mu.Unlock()
			}
			return err
		}
		m.updateClient = func(ctx context.Context, org, id string, update clientUpdate) error {
			conformance.Seam() // until the tokens are stored
			return m.AuthMgmt.UpdateClient(ctx, org, id, update)
		}
		m.tokenByDigest = func(ctx context.Context, digest [32]byte) (authmgmt.Token, error) {
			k, err := m.AuthMgmt.TokenByDigest(ctx, digest)
			mu.Lock()
			defer mu.Unlock()
			if old, ok := kept[digest]; ok && err != nil {
				return old, nil
			}
			return k, err
		}
	}},
	{name: "looks for a token's secret when it is read", breaks: []string{"tokens/do-not-come-back"}, mutate: func(m *mutant) {
		kept := make(map[[32]byte]authmgmt.Token)
		m.createToken = func(ctx context.Context, k authmgmt.Token, e authmgmt.AuditEvent) error {
			kept[k.Digest] = k.Clone()
			return m.AuthMgmt.CreateToken(ctx, k, e)
		}
		m.tokenByDigest = func(ctx context.Context, digest [32]byte) (authmgmt.Token, error) {
			k, err := m.AuthMgmt.TokenByDigest(ctx, digest)
			if old, ok := kept[digest]; ok && err != nil {
				if _, err := m.AuthMgmt.ClientBySecret(ctx, old.Secret); err == nil {
					return old, nil
				}
			}
			return k, err
		}
	}},
	{name: "removes all tokens of a client that changes", breaks: []string{
		"tokens/stay-with-their-digest", "tokens/roles-follow-the-client", "tokens/die-with-their-secret",
	}, mutate: func(m *mutant) {
		gone := make(map[string]bool)
		m.updateClient = func(ctx context.Context, org, id string, update clientUpdate) error {
			gone[org+"/"+id] = true
			return m.AuthMgmt.UpdateClient(ctx, org, id, update)
		}
		m.tokenByDigest = func(ctx context.Context, digest [32]byte) (authmgmt.Token, error) {
			k, err := m.AuthMgmt.TokenByDigest(ctx, digest)
			if gone[k.Organization+"/"+k.Client] {
				return authmgmt.Token{}, authmgmt.ErrNotFound
			}
			return k, err
		}
	}},
	{name: "removes tokens before the change is accepted", breaks: []string{
		"tokens/stay-if-the-change-is-refused", "clients/update-refuses-a-stored-digest",
	}, mutate: func(m *mutant) {
		gone := make(map[string]bool)
		m.updateClient = func(ctx context.Context, org, id string, update clientUpdate) error {
			err := m.AuthMgmt.UpdateClient(ctx, org, id, update)
			gone[id] = gone[id] || err != nil
			return err
		}
		m.tokenByDigest = func(ctx context.Context, digest [32]byte) (authmgmt.Token, error) {
			k, err := m.AuthMgmt.TokenByDigest(ctx, digest)
			if gone[k.Client] {
				return authmgmt.Token{}, authmgmt.ErrNotFound
			}
			return k, err
		}
	}},
}
