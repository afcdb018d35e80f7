package vaulttest_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

type registerKey = func(context.Context, keyring.Key) (keyring.Key, error)

// registering makes a mutant whose RegisterKey is another one.
func registering(change func(m *mutant, register registerKey) registerKey) func(*mutant) {
	return func(m *mutant) { m.registerKey = change(m, m.registerKey) }
}

// keyMutants are wrong about which keys there are.
var keyMutants = []broken{
	{name: "forgets checks", breaks: []string{"keys/register-stores-every-field", "keys/register-what-is-known"}, mutate: registering(func(_ *mutant, register registerKey) registerKey {
		return func(ctx context.Context, k keyring.Key) (keyring.Key, error) {
			k.Check = keyring.Fingerprint{}
			return register(ctx, k)
		}
	})},
	{name: "returns the key that it is given", breaks: []string{
		"keys/register-what-is-known", "keys/registered-once", "keys/first-fingerprint-version-is-required", "store/durable-constraints",
	}, mutate: registering(func(_ *mutant, register registerKey) registerKey {
		return func(ctx context.Context, k keyring.Key) (keyring.Key, error) {
			_, err := register(ctx, k)
			return k, err
		}
	})},
	{name: "keeps flags as given", breaks: []string{"keys/register-ignores-flags"}, mutate: registering(func(m *mutant, register registerKey) registerKey {
		return func(ctx context.Context, k keyring.Key) (keyring.Key, error) {
			stored, err := register(ctx, k)
			if k.Required && k.Purpose == keyring.FingerprintKey {
				_ = m.db.RequireKey(ctx, k.Version)
			}
			return stored, err
		}
	})},
	{name: "requires no first version", breaks: []string{
		"keys/register-stores-every-field", "keys/first-fingerprint-version-is-required", "keys/one-is-first",
	}, mutate: func(m *mutant) {
		asked := make(map[int]bool)
		m.requireKey = func(ctx context.Context, version int) error {
			asked[version] = true
			return m.db.RequireKey(ctx, version)
		}
		hide := func(k *keyring.Key) { k.Required = k.Required && asked[k.Version] }
		register := m.registerKey
		m.registerKey = func(ctx context.Context, k keyring.Key) (keyring.Key, error) {
			stored, err := register(ctx, k)
			hide(&stored)
			return stored, err
		}
		m.everyKeys(func(keys []keyring.Key) []keyring.Key {
			for i := range keys {
				hide(&keys[i])
			}
			return keys
		})
	}},
	{name: "requires every version", breaks: []string{
		"keys/first-fingerprint-version-is-required", "keys/register-stores-every-field", "keys/one-is-first", "tokens/insert-needs-required-versions",
	}, mutate: registering(func(m *mutant, register registerKey) registerKey {
		return func(ctx context.Context, k keyring.Key) (keyring.Key, error) {
			stored, err := register(ctx, k)
			if k.Purpose == keyring.FingerprintKey && m.db.RequireKey(ctx, k.Version) == nil {
				stored.Required = true
			}
			return stored, err
		}
	})},
	{name: "orders versions as texts", breaks: []string{"keys/by-purpose-then-version"}, mutate: func(m *mutant) {
		m.everyKeys(func(keys []keyring.Key) []keyring.Key {
			slices.SortFunc(keys, func(a, b keyring.Key) int {
				return cmp.Or(strings.Compare(string(a.Purpose), string(b.Purpose)), strings.Compare(fmt.Sprint(a.Version), fmt.Sprint(b.Version)))
			})
			return keys
		})
	}},
	{name: "orders keys by version", breaks: []string{"keys/by-purpose-then-version"}, mutate: func(m *mutant) {
		m.everyKeys(func(keys []keyring.Key) []keyring.Key {
			slices.SortStableFunc(keys, func(a, b keyring.Key) int { return cmp.Compare(a.Version, b.Version) })
			return keys
		})
	}},
	{name: "has one key of a version", breaks: []string{"keys/purposes-are-apart"}, mutate: func(m *mutant) {
		retire := m.retireKey
		m.retireKey = func(ctx context.Context, p keyring.Purpose, version, successor int) error {
			usage, _ := m.db.KeyUsage(ctx)
			if usage.Sealed[version] > 0 {
				return keyring.ErrInUse
			}
			return retire(ctx, p, version, successor)
		}
	}},
	{name: "requires nothing", breaks: []string{
		"keys/require", "keys/require-unknown-or-retired", "tokens/insert-needs-required-versions", "keys/require-while-inserting", "keys/retire-fingerprint-version",
	}, mutate: func(m *mutant) {
		m.requireKey = func(ctx context.Context, _ int) error { return ctx.Err() }
	}},
	{name: "requires one version at a time", breaks: []string{"keys/require", "store/ended-context"}, mutate: func(m *mutant) {
		last := 0
		m.requireKey = func(ctx context.Context, version int) error {
			err := m.db.RequireKey(ctx, version)
			last = version
			return err
		}
		m.everyKeys(func(keys []keyring.Key) []keyring.Key {
			for i := range keys {
				keys[i].Required = keys[i].Required && (last == 0 || keys[i].Version == last)
			}
			return keys
		})
	}},
	{name: "takes retired versions for unknown", breaks: []string{"keys/require-unknown-or-retired"}, mutate: func(m *mutant) {
		m.requireKey = func(ctx context.Context, version int) error {
			err := m.db.RequireKey(ctx, version)
			if errors.Is(err, keyring.ErrRetired) {
				return keyring.ErrUnknownKey
			}
			return err
		}
	}},
	{name: "counts deleted rows", breaks: []string{"keys/usage-without-deleted-rows", "tokens/delete-forgets"}, mutate: func(m *mutant) {
		gone := 0
		del := m.deleteToken
		m.deleteToken = func(ctx context.Context, org, id, token string, a vault.AuditEvent) error {
			err := del(ctx, org, id, token, a)
			if err == nil {
				gone++
			}
			return err
		}
		m.everyUsage(func(u *keyring.Usage) { u.Rows += gone })
	}},
	{name: "counts random rows as deterministic", breaks: []string{"keys/usage"}, mutate: func(m *mutant) {
		m.everyUsage(func(u *keyring.Usage) { u.Deterministic = u.Rows })
	}},
	{name: "counts no fingerprints of retired versions", breaks: []string{"keys/usage", "rotation/remove-fingerprints"}, mutate: func(m *mutant) {
		m.everyUsage(func(u *keyring.Usage) {
			for _, version := range m.retiredVersions(context.Background()) {
				delete(u.Fingerprints, version)
			}
		})
	}},
	{name: "counts keys", breaks: []string{"keys/usage-of-nothing", "keys/usage"}, mutate: func(m *mutant) {
		m.everyUsage(func(u *keyring.Usage) {
			keys, _ := m.db.Keys(context.Background())
			for _, k := range keys {
				if k.Purpose == keyring.SealKey {
					u.Sealed[k.Version]++
				}
			}
			u.Sealed[7]++
		})
	}},
}

type retireKey = func(ctx context.Context, p keyring.Purpose, version, successor int) error

// retiring makes a mutant whose RetireKey is another one.
func retiring(change func(m *mutant, retire retireKey) retireKey) func(*mutant) {
	return func(m *mutant) { m.retireKey = change(m, m.retireKey) }
}

// retireMutants are wrong about when a key may go.
var retireMutants = []broken{
	{name: "retires what is in use", breaks: []string{
		"keys/retire-needs-a-successor", "keys/retire-seal-in-use", "keys/one-stays-required", "keys/retire-while-inserting",
	}, mutate: retiring(func(_ *mutant, retire retireKey) retireKey {
		return func(ctx context.Context, p keyring.Purpose, version, successor int) error {
			conformance.Seam() // until all have inserted
			if err := retire(ctx, p, version, successor); !errors.Is(err, keyring.ErrInUse) {
				return err
			}
			return nil
		}
	})},
	{name: "retires nothing", breaks: []string{
		"keys/retire-fingerprint-version", "keys/retire-needs-a-successor", "keys/retire-unknown", "tokens/insert-ignores-retired-versions", "rotation/add-of-a-retired-version",
		"rotation/reseal-under-a-retired-version", "tokens/insert-stores-no-retired-fingerprints", "tokens/insert-under-a-retired-seal",
	}, mutate: func(m *mutant) {
		m.retireKey = func(ctx context.Context, _ keyring.Purpose, _, _ int) error { return ctx.Err() }
	}},
	{name: "takes any version for a successor", breaks: []string{"keys/retire-needs-a-successor"}, mutate: retiring(func(m *mutant, retire retireKey) retireKey {
		return func(ctx context.Context, p keyring.Purpose, version, successor int) error {
			keys, _ := m.db.Keys(ctx)
			for _, k := range keys {
				if k.Purpose == keyring.FingerprintKey && k.Version == successor && k.Version != version {
					_ = m.db.RequireKey(ctx, successor)
				}
			}
			return retire(ctx, p, version, successor)
		}
	})},
	{name: "asks for fingerprints before it retires", breaks: []string{"keys/retire-fingerprint-version", "tokens/insert-ignores-retired-versions"}, mutate: retiring(func(m *mutant, retire retireKey) retireKey {
		return func(ctx context.Context, p keyring.Purpose, version, successor int) error {
			usage, _ := m.db.KeyUsage(ctx)
			if p == keyring.FingerprintKey && usage.Fingerprints[version] > 0 {
				return keyring.ErrInUse
			}
			return retire(ctx, p, version, successor)
		}
	})},
	{name: "asks keys that seal for a successor", breaks: []string{"keys/retire-seal-needs-no-successor"}, mutate: retiring(func(_ *mutant, retire retireKey) retireKey {
		return func(ctx context.Context, p keyring.Purpose, version, successor int) error {
			if p == keyring.SealKey && successor == version {
				return keyring.ErrInUse
			}
			return retire(ctx, p, version, successor)
		}
	})},
	{name: "retires what it does not know", breaks: []string{"keys/retire-unknown", "keys/purposes-are-apart"}, mutate: retiring(func(_ *mutant, retire retireKey) retireKey {
		return func(ctx context.Context, p keyring.Purpose, version, successor int) error {
			if err := retire(ctx, p, version, successor); !errors.Is(err, keyring.ErrUnknownKey) {
				return err
			}
			return nil
		}
	})},
	{name: "retires once", breaks: []string{"keys/retire-twice", "store/ended-context"}, mutate: retiring(func(m *mutant, retire retireKey) retireKey {
		return func(ctx context.Context, p keyring.Purpose, version, successor int) error {
			keys, _ := m.db.Keys(context.WithoutCancel(ctx))
			for _, k := range keys {
				if k.Purpose == p && k.Version == version && k.Retired {
					return keyring.ErrRetired
				}
			}
			return retire(ctx, p, version, successor)
		}
	})},
	{name: "keeps retired versions required", breaks: []string{"keys/retire-fingerprint-version"}, mutate: func(m *mutant) {
		m.everyKeys(func(keys []keyring.Key) []keyring.Key {
			for i := range keys {
				keys[i].Required = keys[i].Required || keys[i].Retired && keys[i].Version == 1
			}
			return keys
		})
	}},
}
