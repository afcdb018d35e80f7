package authmgmttest_test

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

// hidesTokens makes TokenByDigest find no token that hidden says.
func hidesTokens(hidden func(*authmgmt.Token) bool) func(*mutant) {
	return around(func(c *mutate.Call) {
		if c.Go(); hidden(mutate.Get[authmgmt.Token](c.Out)) {
			*c.Err() = mortise.ErrNotFound
		}
	}, "TokenByDigest")
}

// keepsTokens makes TokenByDigest find the tokens that are not there any more, as they were
// made, but for those that stay says do not.
func keepsTokens(stay func(*mutant, authmgmt.Token) bool) func(*mutant) {
	return func(m *mutant) {
		kept := remembers(m)
		mutate.Around(&m.On, func(c *mutate.Call) {
			if c.Go(); *c.Err() == nil {
				return
			}
			for _, k := range kept.all().tokens {
				if k.Digest == *mutate.Get[[32]byte](c.In) && stay(m, k) {
					*mutate.Get[authmgmt.Token](c.Out), *c.Err() = k, nil
				}
			}
		}, "TokenByDigest")
	}
}

// tokenMutants are wrong about what a token stands on.
var tokenMutants = []broken{
	{name: "keeps a client's token that is too old", breaks: "tokens/newest-of-client",
		mutate: keepsTokens(func(_ *mutant, k authmgmt.Token) bool { return k.Client == "build" })},
	{name: "stores tokens of whatever secret", breaks: "tokens/create-needs-the-secret tokens/create-refused-stores-no-event",
		mutate: accepting(mortise.ErrNotFound, "CreateToken")},
	{name: "keeps a secret that is no client's", breaks: "tokens/create-keeps-no-secret-of-others", mutate: func(m *mutant) {
		secrets := make(map[uuid.UUID][32]byte)
		in(func(k *authmgmt.Token) { secrets[k.ID] = k.Secret }, "CreateToken")(m)
		out(func(k *authmgmt.Token) { k.Secret = secrets[k.ID] })(m)
	}},
	{name: "looks for tokens before secrets", breaks: "tokens/create-looks-for-the-secret-first",
		mutate: replace("CreateToken", func(m *mutant, ctx context.Context, k authmgmt.Token, e authmgmt.AuditEvent) error {
			if _, err := m.AuthMgmt.TokenByDigest(ctx, k.Digest); err == nil {
				return mortise.ErrExists
			}
			return m.AuthMgmt.CreateToken(ctx, k, e)
		})},
	{name: "looks for the secret, not for whose it is", breaks: "tokens/create-needs-the-secret",
		mutate: replace("CreateToken", func(m *mutant, ctx context.Context, k authmgmt.Token, e authmgmt.AuditEvent) error {
			if k.Client != "" {
				if c, err := m.AuthMgmt.ClientBySecret(ctx, k.Secret); err == nil {
					k.Organization, k.Client = c.Organization, c.ID
				}
			}
			return m.AuthMgmt.CreateToken(ctx, k, e)
		})},
	{name: "refuses tokens of ended secrets", breaks: "tokens/create-with-an-ended-secret",
		mutate: replace("CreateToken", func(m *mutant, ctx context.Context, k authmgmt.Token, e authmgmt.AuditEvent) error {
			c, err := m.AuthMgmt.ClientBySecret(ctx, k.Secret)
			if err == nil && slices.ContainsFunc(c.Secrets, func(s authmgmt.ClientSecret) bool {
				return s.Digest == k.Secret && !s.ExpiresAt.IsZero() && s.ExpiresAt.Before(k.CreatedAt)
			}) {
				return mortise.ErrNotFound
			}
			return m.AuthMgmt.CreateToken(ctx, k, e)
		})},
	{name: "keeps the roles of a client's token",
		breaks: "tokens/create-keeps-no-roles-of-a-client tokens/roles-follow-the-client tokens/list-roles-follow-the-client",
		mutate: func(m *mutant) {
			roles := make(map[uuid.UUID][]access.Role)
			in(func(k *authmgmt.Token) { roles[k.ID] = slices.Clone(k.Roles) }, "CreateToken")(m)
			out(func(k *authmgmt.Token) { k.Roles = slices.Clone(roles[k.ID]) })(m)
		}},
	{name: "keeps no roles at all", breaks: "tokens/own-roles-are-kept", mutate: out(func(k *authmgmt.Token) {
		if k.Client == "" {
			k.Roles = nil
		}
	})},
	{name: "lists tokens without roles", breaks: "tokens/list-roles-follow-the-client tokens/list-newest-first",
		mutate: out(func(k *authmgmt.Token) { k.Roles = nil }, "ListTokens")},
	{name: "hides tokens that have ended", breaks: "tokens/by-digest-ended tokens/update-changes-the-revocation store/durable",
		mutate: hidesTokens(func(k *authmgmt.Token) bool { return !k.RevokedAt.IsZero() })},
	{name: "leaves the tokens of removed secrets",
		breaks: "tokens/die-with-their-secret tokens/die-with-their-client tokens/do-not-come-back " +
			"tokens/none-survives-its-secret tokens/stay-with-their-digest store/durable-absence",
		mutate: both(
			// The update waits until the tokens are stored.
			arg(func(*context.Context) { conformance.Seam() }, "UpdateClient"),
			keepsTokens(func(*mutant, authmgmt.Token) bool { return true }),
		)},
	{name: "looks for a token's secret when it is read", breaks: "tokens/do-not-come-back", mutate: keepsTokens(
		func(m *mutant, k authmgmt.Token) bool {
			_, err := m.AuthMgmt.ClientBySecret(context.Background(), k.Secret)
			return err == nil
		})},
	{name: "removes all tokens of a client that changes",
		breaks: "tokens/stay-with-their-digest tokens/roles-follow-the-client tokens/die-with-their-secret",
		mutate: func(m *mutant) {
			gone := make(map[string]bool)
			m.On.UpdateClient = func(ctx context.Context, org, id string, update clientUpdate) error {
				gone[org+"/"+id] = true
				return m.AuthMgmt.UpdateClient(ctx, org, id, update)
			}
			hidesTokens(func(k *authmgmt.Token) bool { return gone[k.Organization+"/"+k.Client] })(m)
		}},
	{name: "removes tokens before the change is accepted",
		breaks: "tokens/stay-if-the-change-is-refused clients/update-refuses-a-stored-digest",
		mutate: func(m *mutant) {
			gone := make(map[string]bool)
			m.On.UpdateClient = func(ctx context.Context, org, id string, update clientUpdate) error {
				err := m.AuthMgmt.UpdateClient(ctx, org, id, update)
				gone[id] = gone[id] || err != nil
				return err
			}
			hidesTokens(func(k *authmgmt.Token) bool { return gone[k.Client] })(m)
		}},
}
