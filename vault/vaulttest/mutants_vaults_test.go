package vaulttest_test

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// putting makes a mutant whose PutVault is another one.
func putting(do func(m *mutant, c *mutate.Call, v *vault.Vault, left *[]string)) func(*mutant) {
	return around(func(m *mutant, c *mutate.Call) { do(m, c, mutate.Get[vault.Vault](c.In), mutate.Get[[]string](c.In)) }, "PutVault")
}

// overwriting makes PutVault store what it should refuse with an error.
func overwriting(refusal error) func(*mutant) {
	return putting(func(m *mutant, c *mutate.Call, v *vault.Vault, left *[]string) {
		if c.Go(); errors.Is(*c.Err(), refusal) {
			stored, err := m.db.Vault(bg, v.Organization, v.ID)
			if v.Revision = stored.Revision + 1; err != nil {
				v.Revision = 1
			}
			*left = nil
			c.Go()
		}
	})
}

// vaultMutants are wrong about changes of vaults.
var vaultMutants = []broken{
	{name: "joins the names of deleted vaults", breaks: "vaults/names-are-apart",
		mutate: func(m *mutant) { mutate.Joined(&m.On, mortise.ErrNotFound, "Vault", "MarkVaultDeleted") }},
	{name: "makes vaults that are there",
		breaks: "vaults/put-refuses-an-id-that-is-there vaults/made-once store/durable-constraints",
		mutate: overwriting(mortise.ErrExists)},
	{name: "lets the last one win", breaks: "vaults/put-of-another-revision vaults/changed-by-one", mutate: overwriting(vault.ErrConflict)},
	{name: "makes what it should change", breaks: "vaults/put-of-none", mutate: overwriting(mortise.ErrNotFound)},
	{name: "changes CreatedAt", breaks: "vaults/created-at-does-not-change", mutate: func(m *mutant) {
		created := make(map[string]vault.Vault)
		in(func(v *vault.Vault) { created[v.ID] = *v }, "PutVault")(m)
		out(func(v *vault.Vault) { v.CreatedAt = created[v.ID].CreatedAt }, "Vault")(m)
	}},
	{name: "forgets the event of a change", breaks: "vaults/put-stores-the-event", mutate: arg(
		func(a *vault.AuditEvent) { *a = vault.AuditEvent{} }, "PutVault")},
	{name: "stores events of what it refuses",
		breaks: "vaults/put-refuses-an-id-that-is-there vaults/put-of-another-revision vaults/put-of-none " +
			"vaults/left-scope-in-use vaults/changed-by-one",
		mutate: storingRefused("PutVault")},
	{name: "gives events an ID", breaks: "vaults/event-without-id", mutate: in(func(e *vault.AuditEvent) {
		if e.ID == uuid.Nil {
			e.ID = uuid.New()
		}
	}, "PutVault", "ImportTokens", "DeleteToken", "AddAuditEvent")},
	{name: "needs an ID of an event", breaks: "vaults/event-without-id",
		mutate: refusing(errors.New("no ID"), func(_ *mutant, c *mutate.Call) bool {
			return mutate.Get[vault.AuditEvent](c.In).ID == uuid.Nil
		}, "AddAuditEvent")},
	{name: "empties a vault that is changed", breaks: "vaults/put-changes-no-token tokens/find-other-revision", mutate: putting(
		func(m *mutant, c *mutate.Call, v *vault.Vault, _ *[]string) {
			if c.Go(); *c.Err() == nil && v.Revision > 1 {
				for _, r := range m.rowsOf(bg, v.Organization, v.ID) {
					_ = m.db.DeleteToken(bg, v.Organization, v.ID, r.Token, vault.AuditEvent{})
				}
			}
		})},
	{name: "loses a revision", breaks: "vaults/put-stores-every-field",
		mutate: out(func(v *vault.Vault) { v.Revision = min(v.Revision, 1) }, "Vault")},
}

// leaving makes a mutant that decides otherwise whether scopes that are left are in use.
func leaving(inUse func(r *vault.Row, left []string) bool) func(*mutant) {
	return putting(func(m *mutant, c *mutate.Call, v *vault.Vault, left *[]string) {
		if stored, err := m.db.Vault(bg, v.Organization, v.ID); err == nil && stored.Revision == v.Revision-1 {
			for _, r := range m.rowsOf(bg, v.Organization, v.ID) {
				if inUse(&r, *left) {
					*c.Err() = vault.ErrScopeInUse
					return
				}
			}
		}
		c.Go()
	})
}

// scopeMutants are wrong about scopes that are left.
var scopeMutants = []broken{
	{name: "lets every scope be left",
		breaks: "vaults/left-scope-in-use vaults/left-scope-of-random-rows vaults/left-scope-after-rotation " +
			"vaults/left-scope-while-inserting store/durable-constraints",
		mutate: putting(func(_ *mutant, c *mutate.Call, _ *vault.Vault, left *[]string) {
			conformance.Seam() // until all have inserted
			*left = nil
			c.Go()
		})},
	{name: "looks at the first scope that is left", breaks: "vaults/left-scope-in-use", mutate: arg(
		func(left *[]string) { *left = (*left)[:min(1, len(*left))] }, "PutVault")},
	{name: "changes the vault and then looks at its scopes", breaks: "vaults/left-scope-in-use", mutate: putting(
		func(m *mutant, c *mutate.Call, v *vault.Vault, _ *[]string) {
			if c.Go(); errors.Is(*c.Err(), vault.ErrScopeInUse) {
				_ = m.db.PutVault(bg, *v, nil, vault.AuditEvent{})
			}
		})},
	{name: "compares scopes without case", breaks: "vaults/left-scope-of-others", mutate: leaving(func(r *vault.Row, left []string) bool {
		return slices.ContainsFunc(left, func(scope string) bool { return r.Deterministic && strings.EqualFold(r.Scope, scope) })
	})},
	{name: "asks whether a scope begins so", breaks: "vaults/left-scope-of-others", mutate: leaving(func(r *vault.Row, left []string) bool {
		return slices.ContainsFunc(left, func(scope string) bool { return r.Deterministic && strings.HasPrefix(r.Scope, scope) })
	})},
	{name: "asks all rows for their scopes", breaks: "vaults/left-scope-of-random-rows",
		mutate: leaving(func(r *vault.Row, left []string) bool {
			return slices.Contains(left, r.Scope)
		})},
	{name: "asks all vaults for their scopes", breaks: "vaults/left-scope-of-others", mutate: func(m *mutant) {
		scopes := make(map[string]bool)
		inserted(func(_ *mutant, _ *mutate.Call, _ *string, r *vault.Row) { scopes[r.Scope] = true })(m)
		refusing(vault.ErrScopeInUse, func(_ *mutant, c *mutate.Call) bool {
			return slices.ContainsFunc(*mutate.Get[[]string](c.In), func(scope string) bool { return scopes[scope] })
		}, "PutVault")(m)
	}},
	{name: "keeps scopes of deleted rows in use", breaks: "vaults/left-scope-of-deleted-rows", mutate: func(m *mutant) {
		gone := m.deleted()
		refusing(vault.ErrScopeInUse, func(_ *mutant, c *mutate.Call) bool { return len(gone) > 0 && len(*mutate.Get[[]string](c.In)) > 0 }, "PutVault")(m)
	}},
	{name: "asks the fingerprints of version 1 for their scopes", breaks: "vaults/left-scope-after-rotation", mutate: putting(
		func(m *mutant, c *mutate.Call, _ *vault.Vault, left *[]string) {
			if usage, err := m.db.KeyUsage(bg); err == nil && usage.Fingerprints[1] == 0 {
				*left = nil
			}
			c.Go()
		})},
	{name: "looks at scopes before it locks the vault", breaks: "vaults/left-scope-while-inserting", mutate: both(late, putting(
		func(m *mutant, c *mutate.Call, v *vault.Vault, left *[]string) {
			for _, r := range m.rowsOf(bg, v.Organization, v.ID) {
				if r.Deterministic && slices.Contains(*left, r.Scope) {
					*c.Err() = vault.ErrScopeInUse
					return
				}
			}
			conformance.Seam()
			conformance.Seam() // until all have inserted
			*left = nil
			c.Go()
		}))},
}

// raceMutants look first and act later.
var raceMutants = []broken{
	{name: "gives a token again while it is deleted", breaks: "tokens/deleted-while-inserted", mutate: func(m *mutant) {
		var deleted atomic.Int64
		around(func(_ *mutant, c *mutate.Call) {
			c.Go()
			deleted.Add(1)
		}, "DeleteToken")(m)
		around(func(_ *mutant, c *mutate.Call) {
			before := deleted.Load()
			conformance.Seam()
			if c.Go(); deleted.Load() > before && errors.As(*c.Err(), new(*vault.TakenError)) {
				*c.Err() = nil
			}
		}, "InsertTokens")(m)
	}},
	{name: "looks for a vault before it makes it", breaks: "vaults/made-once vaults/changed-by-one", mutate: putting(
		func(m *mutant, c *mutate.Call, v *vault.Vault, _ *[]string) {
			stored, err := m.db.Vault(bg, v.Organization, v.ID)
			free := errors.Is(err, mortise.ErrNotFound) && v.Revision == 1 || err == nil && stored.Revision == v.Revision-1
			conformance.Seam()
			if c.Go(); free && (errors.Is(*c.Err(), mortise.ErrExists) || errors.Is(*c.Err(), vault.ErrConflict)) {
				*c.Err() = nil
			}
		})},
	{name: "looks for a value before it inserts it",
		breaks: "tokens/one-token-of-a-value tokens/one-token-of-each-value tokens/one-token-during-a-rotation",
		mutate: around(func(m *mutant, c *mutate.Call) {
			rows := rowsIn(c)
			own := make([]string, len(rows))
			for i := range rows {
				for _, f := range rows[i].Fingerprints {
					own[i] = cmp.Or(own[i], m.tokenOf(bg, org(c), id(c), rows[i].Scope, f))
				}
			}
			conformance.Seam()
			c.Go()
			for i := range tokensOut(c) {
				if own[i] == "" {
					tokensOut(c)[i] = rows[i].Token
				}
			}
		}, "InsertTokens")},
	{name: "looks for a token before it gives it", breaks: "tokens/given-once", mutate: around(func(m *mutant, c *mutate.Call) {
		rows := rowsIn(c)
		_, taken := m.row(bg, org(c), id(c), rows[0].Token)
		conformance.Seam()
		if c.Go(); !taken && len(rows) == 1 && errors.As(*c.Err(), new(*vault.TakenError)) {
			*mutate.Get[[]string](c.Out), *c.Err() = []string{rows[0].Token}, nil
		}
	}, "InsertTokens")},
	{name: "looks for a token before it deletes it", breaks: "tokens/deleted-once", mutate: around(func(m *mutant, c *mutate.Call) {
		_, there := m.row(bg, org(c), id(c), c.In[3].String())
		conformance.Seam()
		if c.Go(); there && errors.Is(*c.Err(), vault.ErrTokenNotFound) {
			*c.Err() = nil
		}
	}, "DeleteToken")},
	{name: "inserts row by row",
		breaks: "store/reads-are-whole tokens/insert-a-token-twice tokens/insert-a-token-that-is-there " +
			"tokens/insert-refused-adds-nothing",
		mutate: around(func(_ *mutant, c *mutate.Call) {
			var tokens []string
			for i, r := range rowsIn(c) {
				*mutate.Get[[]vault.Row](c.In) = []vault.Row{r}
				if c.Go(); *c.Err() != nil {
					return
				}
				tokens = append(tokens, tokensOut(c)...)
				if i < 10 {
					conformance.Seam()
				}
			}
			*mutate.Get[[]string](c.Out) = tokens
		}, "InsertTokens")},
	{name: "stores the event before the vault", breaks: "store/reads-are-whole", mutate: storingBefore("PutVault")},
	{name: "looks whether a version is the first before it registers it", breaks: "keys/one-is-first", mutate: func(m *mutant) {
		var first sync.Map
		around(func(m *mutant, c *mutate.Call) {
			known, _ := m.db.Keys(bg)
			conformance.Seam()
			if len(known) == 0 {
				first.Store(mutate.Get[keyring.Key](c.In).Version, true)
			}
			c.Go()
		}, "RegisterKey")(m)
		out(func(k *keyring.Key) {
			_, is := first.Load(k.Version)
			k.Required = k.Required || is
		}, "Keys")(m)
	}},
	{name: "looks for a successor before it retires", breaks: "keys/one-stays-required", mutate: retiring(
		func(m *mutant, c *mutate.Call, p keyring.Purpose, version, successor int) {
			keys, _ := m.db.Keys(bg)
			good := version != successor && slices.ContainsFunc(keys, func(k keyring.Key) bool { return k.Purpose == p && k.Version == successor && k.Required })
			conformance.Seam()
			if c.Go(); p == keyring.FingerprintKey && good && errors.Is(*c.Err(), keyring.ErrInUse) {
				*c.Err() = nil
			}
		})},
	{name: "counts rows before it retires", breaks: "keys/retire-while-inserting", mutate: both(late, retiring(
		func(m *mutant, c *mutate.Call, p keyring.Purpose, version, _ int) {
			usage, _ := m.db.KeyUsage(bg)
			conformance.Seam()
			conformance.Seam() // until all have inserted
			if c.Go(); p == keyring.SealKey && usage.Sealed[version] == 0 && errors.Is(*c.Err(), keyring.ErrInUse) {
				*c.Err() = nil
			}
		}))},
}
