package vaulttest_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// registered calls do with the key that RegisterKey is given, and what it returns.
func registered(do func(m *mutant, k keyring.Key, stored *keyring.Key)) func(*mutant) {
	return around(func(m *mutant, c *mutate.Call) {
		c.Go()
		do(m, *mutate.Get[keyring.Key](c.In), mutate.Get[keyring.Key](c.Out))
	}, "RegisterKey")
}

// keyMutants are wrong about which keys there are.
var keyMutants = []broken{
	{name: "forgets checks", breaks: "keys/register-stores-every-field keys/register-what-is-known", mutate: arg(
		func(k *keyring.Key) { k.Check = keyring.Fingerprint{} }, "RegisterKey")},
	{name: "returns the key that it is given",
		breaks: "keys/register-what-is-known keys/registered-once keys/first-fingerprint-version-is-required " +
			"store/durable-constraints",
		mutate: registered(func(_ *mutant, k keyring.Key, stored *keyring.Key) { *stored = k })},
	{name: "keeps flags as given", breaks: "keys/register-ignores-flags", mutate: registered(func(m *mutant, k keyring.Key, _ *keyring.Key) {
		if k.Required && k.Purpose == keyring.FingerprintKey {
			_ = m.db.RequireKey(bg, k.Version)
		}
	})},
	{name: "requires no first version",
		breaks: "keys/register-stores-every-field keys/first-fingerprint-version-is-required keys/one-is-first",
		mutate: func(m *mutant) {
			asked := make(map[int]bool)
			arg(func(version *int) { asked[*version] = true }, "RequireKey")(m)
			out(func(k *keyring.Key) { k.Required = k.Required && asked[k.Version] }, "RegisterKey", "Keys")(m)
		}},
	{name: "requires every version",
		breaks: "keys/first-fingerprint-version-is-required keys/register-stores-every-field keys/one-is-first " +
			"tokens/insert-needs-required-versions",
		mutate: registered(func(m *mutant, k keyring.Key, stored *keyring.Key) {
			if k.Purpose == keyring.FingerprintKey && m.db.RequireKey(bg, k.Version) == nil {
				stored.Required = true
			}
		})},
	{name: "orders versions as texts", breaks: "keys/by-purpose-then-version", mutate: out(func(keys *[]keyring.Key) {
		slices.SortFunc(*keys, func(a, b keyring.Key) int {
			return cmp.Or(strings.Compare(string(a.Purpose), string(b.Purpose)), strings.Compare(fmt.Sprint(a.Version), fmt.Sprint(b.Version)))
		})
	}, "Keys")},
	{name: "orders keys by version", breaks: "keys/by-purpose-then-version", mutate: out(func(keys *[]keyring.Key) {
		slices.SortStableFunc(*keys, func(a, b keyring.Key) int { return cmp.Compare(a.Version, b.Version) })
	}, "Keys")},
	{name: "has one key of a version", breaks: "keys/purposes-are-apart", mutate: refusingToRetire(keyring.ErrInUse,
		func(m *mutant, _ keyring.Purpose, version, _ int) bool {
			usage, _ := m.db.KeyUsage(bg)
			return usage.Sealed[version] > 0
		})},
	{name: "requires nothing",
		breaks: "keys/require keys/require-unknown-or-retired tokens/insert-needs-required-versions " +
			"keys/require-while-inserting keys/retire-fingerprint-version",
		mutate: around(func(*mutant, *mutate.Call) {}, "RequireKey")},
	{name: "requires one version at a time", breaks: "keys/require store/ended-context", mutate: func(m *mutant) {
		last := 0
		arg(func(version *int) { last = *version }, "RequireKey")(m)
		out(func(k *keyring.Key) { k.Required = k.Required && (last == 0 || k.Version == last) }, "Keys")(m)
	}},
	{name: "takes retired versions for unknown", breaks: "keys/require-unknown-or-retired", mutate: errs(func(err error) error {
		if errors.Is(err, keyring.ErrRetired) {
			return keyring.ErrUnknownKey
		}
		return err
	}, "RequireKey")},
	{name: "counts deleted rows", breaks: "keys/usage-without-deleted-rows tokens/delete-forgets", mutate: func(m *mutant) {
		gone := m.deleted()
		out(func(u *keyring.Usage) { u.Rows += len(gone) })(m)
	}},
	{name: "counts random rows as deterministic", breaks: "keys/usage", mutate: out(func(u *keyring.Usage) { u.Deterministic = u.Rows })},
	{name: "counts no fingerprints of retired versions", breaks: "keys/usage steps/remove-fingerprints", mutate: func(m *mutant) {
		out(func(u *keyring.Usage) {
			for _, version := range m.retiredVersions(bg) {
				delete(u.Fingerprints, version)
			}
		})(m)
	}},
	{name: "counts keys", breaks: "keys/usage-of-nothing keys/usage", mutate: func(m *mutant) {
		out(func(u *keyring.Usage) {
			keys, _ := m.db.Keys(bg)
			for _, k := range keys {
				if k.Purpose == keyring.SealKey {
					u.Sealed[k.Version]++
				}
			}
			u.Sealed[7]++
		})(m)
	}},
}

// retiring makes a mutant whose RetireKey is another one.
func retiring(do func(m *mutant, c *mutate.Call, p keyring.Purpose, version, successor int)) func(*mutant) {
	return around(func(m *mutant, c *mutate.Call) {
		do(m, c, *mutate.Get[keyring.Purpose](c.In), int(c.In[2].Int()), int(c.In[3].Int()))
	}, "RetireKey")
}

// refusingToRetire is refusing for RetireKey.
func refusingToRetire(err error, refused func(m *mutant, p keyring.Purpose, version, successor int) bool) func(*mutant) {
	return retiring(func(m *mutant, c *mutate.Call, p keyring.Purpose, version, successor int) {
		if refused(m, p, version, successor) {
			*c.Err() = err
			return
		}
		c.Go()
	})
}

// retireMutants are wrong about when a key may go.
var retireMutants = []broken{
	{name: "retires what is in use",
		breaks: "keys/retire-needs-a-successor keys/retire-seal-in-use keys/one-stays-required keys/retire-while-inserting",
		mutate: around(func(_ *mutant, c *mutate.Call) {
			conformance.Seam() // until all have inserted
			if c.Go(); errors.Is(*c.Err(), keyring.ErrInUse) {
				*c.Err() = nil
			}
		}, "RetireKey")},
	{name: "retires nothing",
		breaks: "keys/retire-fingerprint-version keys/retire-needs-a-successor keys/retire-unknown " +
			"tokens/insert-ignores-retired-versions rotation/add-of-a-retired-version " +
			"rotation/reseal-under-a-retired-version tokens/insert-stores-no-retired-fingerprints " +
			"tokens/insert-under-a-retired-seal",
		mutate: around(func(*mutant, *mutate.Call) {}, "RetireKey")},
	{name: "takes any version for a successor", breaks: "keys/retire-needs-a-successor", mutate: retiring(
		func(m *mutant, c *mutate.Call, _ keyring.Purpose, version, successor int) {
			keys, _ := m.db.Keys(bg)
			for _, k := range keys {
				if k.Purpose == keyring.FingerprintKey && k.Version == successor && k.Version != version {
					_ = m.db.RequireKey(bg, successor)
				}
			}
			c.Go()
		})},
	{name: "asks for fingerprints before it retires",
		breaks: "keys/retire-fingerprint-version tokens/insert-ignores-retired-versions",
		mutate: refusingToRetire(
			keyring.ErrInUse, func(m *mutant, p keyring.Purpose, version, _ int) bool {
				usage, _ := m.db.KeyUsage(bg)
				return p == keyring.FingerprintKey && usage.Fingerprints[version] > 0
			})},
	{name: "asks keys that seal for a successor", breaks: "keys/retire-seal-needs-no-successor", mutate: refusingToRetire(
		keyring.ErrInUse, func(_ *mutant, p keyring.Purpose, version, successor int) bool {
			return p == keyring.SealKey && successor == version
		})},
	{name: "retires what it does not know", breaks: "keys/retire-unknown keys/purposes-are-apart",
		mutate: accepting(keyring.ErrUnknownKey, "RetireKey")},
	{name: "retires once", breaks: "keys/retire-twice store/ended-context", mutate: refusingToRetire(
		keyring.ErrRetired, func(m *mutant, p keyring.Purpose, version, _ int) bool {
			keys, _ := m.db.Keys(bg)
			return slices.ContainsFunc(keys, func(k keyring.Key) bool { return k.Purpose == p && k.Version == version && k.Retired })
		})},
	{name: "keeps retired versions required", breaks: "keys/retire-fingerprint-version", mutate: out(
		func(k *keyring.Key) { k.Required = k.Required || k.Retired && k.Version == 1 }, "Keys")},
}
