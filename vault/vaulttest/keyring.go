package vaulttest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// KeyringHarness tells [RunKeyring] how to come by keyrings.
type KeyringHarness struct {
	// Open returns a keyring with the keys of some generations, each 1, 2 or 3. Those of
	// the first one are the primary keys, and seal; the others are there to look up and
	// to open. Within a test, a generation has the same keys in every keyring. The suite
	// learns from Versions what they are called.
	Open func(t *testing.T, generations ...int) keyring.Keyring

	// Foreign is like Open, with other keys under the same versions: those of another
	// installation. Nil if there cannot be such.
	Foreign func(t *testing.T, generations ...int) keyring.Keyring

	// Skip holds the ids of rules that the keyring is known to break, each with a reason.
	// An unknown id or an empty reason fails the suite.
	Skip map[string]string
}

// KeyringRules returns every rule of [RunKeyring], in the order in which it tries them.
func KeyringRules() []Rule { return conformance.RulesOf[Rule](keyringSuite(&KeyringHarness{})) }

// RunKeyring tries every rule of [keyring.Keyring], as a subtest named by the rule's id.
// A rule that is broken prints its text. At the end, it logs which rules were skipped and
// why.
func RunKeyring(t *testing.T, h KeyringHarness) {
	t.Helper()
	keyringSuite(&h).Run(t)
}

// keyringRule is a Rule with the check that proves it.
type keyringRule struct {
	Rule
	needs conformance.Need
	check func(t *testing.T, h *KeyringHarness)
}

// needForeign is what some of them cannot do without.
const needForeign conformance.Need = 1

func keyringSuite(h *KeyringHarness) *conformance.Suite[*KeyringHarness] {
	s := &conformance.Suite[*KeyringHarness]{
		Name: "vaulttest", Skip: h.Skip,
		Open: func(*testing.T) *KeyringHarness { return h },
		Parts: func(h *KeyringHarness, has conformance.Has) {
			has(needForeign, h.Foreign != nil, "the harness has no Foreign")
		},
	}
	for _, r := range slices.Concat(versionRules, fingerprintRules, sealRules, openRules, batchRules, secrecyRules) {
		s.Add(r.ID, r.Text, r.needs, r.check)
	}
	return s
}

// ring is a keyring and its versions.
type ring struct {
	keyring.Keyring
	versions keyring.Versions
}

func (h *KeyringHarness) open(t *testing.T, generations ...int) *ring {
	t.Helper()
	return newRing(t, h.Open(t, generations...))
}

func newRing(t *testing.T, k keyring.Keyring) *ring {
	t.Helper()
	v, err := k.Versions(t.Context())
	require.NoError(t, err, "Versions")
	return &ring{k, v}
}

// fingerprint returns the fingerprints of values of a scope, made at once.
func (r *ring) fingerprint(t *testing.T, version int, s keyring.Scope, values ...string) []keyring.Fingerprint {
	t.Helper()
	return r.fingerprintAll(t, version, fingerprintItems(s, values...))
}

// fingerprintItems are values of a scope.
func fingerprintItems(s keyring.Scope, values ...string) []keyring.FingerprintItem {
	items := make([]keyring.FingerprintItem, len(values))
	for i, value := range values {
		items[i] = keyring.FingerprintItem{Scope: s, Value: keyring.NewValue(value)}
	}
	return items
}

// sealOne seals a value in a batch of its own.
func (r *ring) sealOne(ctx context.Context, s keyring.Scope, token, value string) (keyring.Sealed, error) {
	results, err := r.Seal(ctx, []keyring.SealItem{{Scope: s, Token: token, Value: keyring.NewValue(value)}})
	if err != nil {
		return keyring.Sealed{}, err
	}
	if len(results) != 1 {
		return keyring.Sealed{}, fmt.Errorf("one item has %d results", len(results))
	}
	return results[0].Sealed, results[0].Err
}

// openOne opens what was sealed in a batch of its own.
func (r *ring) openOne(ctx context.Context, s keyring.Scope, token string, sealed keyring.Sealed) (keyring.Value, error) {
	results, err := r.Open(ctx, []keyring.OpenItem{{Scope: s, Token: token, Sealed: sealed}})
	if err != nil {
		return keyring.Value{}, fmt.Errorf("the call failed, not the item: %v", err)
	}
	if len(results) != 1 {
		return keyring.Value{}, fmt.Errorf("one item has %d results", len(results))
	}
	return results[0].Value, results[0].Err
}

// seal seals a value.
func (r *ring) seal(t *testing.T, s keyring.Scope, token, value string) keyring.Sealed {
	t.Helper()
	sealed, err := r.sealOne(t.Context(), s, token, value)
	require.NoError(t, err, "Seal")
	return sealed
}

// opens requires that a sealed value opens as what it was.
func (r *ring) opens(t *testing.T, s keyring.Scope, token string, sealed keyring.Sealed, want string) {
	t.Helper()
	got, err := r.openOne(t.Context(), s, token, sealed)
	require.NoError(t, err, "Open")
	require.False(t, got.IsZero(), "what was opened is no value, not even an empty one")
	require.True(t, got.Reveal() == want, "what was sealed has %d bytes, what was opened %d", len(want), len(got.Reveal()))
}

// refuses requires that what is sealed does not open.
func (r *ring) refuses(t *testing.T, s keyring.Scope, token string, sealed keyring.Sealed, sentinel error, what string) {
	t.Helper()
	got, err := r.openOne(t.Context(), s, token, sealed)
	require.ErrorIs(t, err, sentinel, what)
	require.Empty(t, got.Reveal(), what)
	for _, other := range []error{keyring.ErrCorrupt, keyring.ErrUnknownKey} {
		if other != sentinel {
			require.NotErrorIs(t, err, other, what)
		}
	}
}

// emails is where the suite's values are.
var emails = keyring.Scope{Organization: orgA, Vault: "customers", Name: "persons.email"}

// places are scopes that are not the same, though a mistake in how they are written down
// may make them so.
var places = []keyring.Scope{
	emails,
	{Organization: orgB, Vault: "customers", Name: "persons.email"},
	{Organization: orgA, Vault: "sandbox", Name: "persons.email"},
	{Organization: orgA, Vault: "customers", Name: "persons.phone"},
	{Organization: orgA, Vault: "customers", Name: "emails"},
	{Organization: orgA, Vault: "customers"},
	{Organization: orgA, Name: "persons.email"},
	{Vault: "customers", Name: "persons.email"},
	{Name: "persons.email"},
	{},
	{Organization: "ab", Vault: "c", Name: "d"}, {Organization: "a", Vault: "bc", Name: "d"}, {Organization: "a", Vault: "b", Name: "cd"},
	{Organization: "abcd"}, {Vault: "abcd"}, {Name: "abcd"},
	{Organization: "a\x00b", Vault: "c", Name: "d"}, {Organization: "a", Vault: "b\x00c", Name: "d"},
	{Organization: "a/b", Vault: "c", Name: "d"}, {Organization: "a", Vault: "b/c", Name: "d"},
	{Organization: "A", Vault: "b/c", Name: "d"},
	{Organization: "a", Vault: "c", Name: "b"}, {Organization: "c", Vault: "b", Name: "a"},
}

// hardValues are values that a keyring might take for one another, or change: every byte
// counts.
func hardValues() []string {
	long := string(slices.Repeat([]byte("0123456789abcdef"), 64<<10/16)) // the longest that a service takes by default
	return slices.Concat(hard, []string{"", "\x00", "\x00\x00", "\xff", "\xfe\xff", " ", long, long[:len(long)-1], long[:len(long)-1] + "F", "F" + long[1:]})
}
