package vaulttest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/vaulttest"
)

// keyringMutant is a keyring with some methods replaced. A nil function leaves the method
// as it is.
type keyringMutant struct {
	keyring.Keyring
	versions func(keyring.Versions) keyring.Versions
	limits   func() keyring.Limits
	printed  bool

	// Of values one by one, or of those of one scope.
	fingerprint func(k single, version int, s keyring.Scope, values []string, dst []keyring.Fingerprint) error
	seal        func(k single, s keyring.Scope, token string, plaintext []byte) (keyring.Sealed, error)
	open        func(k single, s keyring.Scope, token string, sealed keyring.Sealed) ([]byte, error)

	// Of batches.
	fingerprints func(k keyring.Keyring, version int, items []keyring.FingerprintItem, dst []keyring.Fingerprint) error
	seals        func(k keyring.Keyring, items []keyring.SealItem) ([]keyring.SealResult, error)
	opens        func(k keyring.Keyring, items []keyring.OpenItem) ([]keyring.OpenResult, error)
}

// single is a keyring that takes values one by one, or those of one scope.
type single struct{ ring keyring.Keyring }

func (k single) Versions(ctx context.Context) (keyring.Versions, error) { return k.ring.Versions(ctx) }

func (k single) Fingerprint(ctx context.Context, version int, s keyring.Scope, values []string, dst []keyring.Fingerprint) error {
	items := make([]keyring.FingerprintItem, len(values))
	for i, value := range values {
		items[i] = keyring.FingerprintItem{Scope: s, Value: keyring.NewValue(value)}
	}
	return k.ring.Fingerprint(ctx, version, items, dst)
}

func (k single) Seal(ctx context.Context, s keyring.Scope, token string, plaintext []byte) (keyring.Sealed, error) {
	results, err := k.ring.Seal(ctx, []keyring.SealItem{{Scope: s, Token: token, Value: keyring.NewValue(string(plaintext))}})
	if err != nil {
		return keyring.Sealed{}, err
	}
	return results[0].Sealed, results[0].Err
}

func (k single) Open(ctx context.Context, s keyring.Scope, token string, sealed keyring.Sealed) ([]byte, error) {
	results, err := k.ring.Open(ctx, []keyring.OpenItem{{Scope: s, Token: token, Sealed: sealed}})
	if err != nil {
		return nil, err
	}
	return []byte(results[0].Value.Reveal()), results[0].Err
}

func (k *keyringMutant) Versions(ctx context.Context) (keyring.Versions, error) {
	v, err := k.Keyring.Versions(ctx)
	if k.versions != nil {
		v = k.versions(v)
	}
	return v, err
}

func (k *keyringMutant) Limits() keyring.Limits {
	if k.limits != nil {
		return k.limits()
	}
	return k.Keyring.Limits()
}

func (k *keyringMutant) Fingerprint(ctx context.Context, version int, items []keyring.FingerprintItem, dst []keyring.Fingerprint) error {
	switch {
	case k.fingerprints != nil:
		return k.fingerprints(k.Keyring, version, items, dst)
	case k.fingerprint == nil || len(items) != len(dst):
		return k.Keyring.Fingerprint(ctx, version, items, dst)
	}
	for from := 0; from < len(items); {
		var values []string
		to := from
		for ; to < len(items) && items[to].Scope == items[from].Scope; to++ {
			values = append(values, items[to].Value.Reveal())
		}
		if err := k.fingerprint(single{k.Keyring}, version, items[from].Scope, values, dst[from:to]); err != nil {
			return err
		}
		from = to
	}
	return nil
}

func (k *keyringMutant) Seal(ctx context.Context, items []keyring.SealItem) ([]keyring.SealResult, error) {
	switch {
	case k.seals != nil:
		return k.seals(k.Keyring, items)
	case k.seal == nil:
		return k.Keyring.Seal(ctx, items)
	}
	results := make([]keyring.SealResult, len(items))
	for i, it := range items {
		results[i].Sealed, results[i].Err = k.seal(single{k.Keyring}, it.Scope, it.Token, []byte(it.Value.Reveal()))
	}
	return results, nil
}

func (k *keyringMutant) Open(ctx context.Context, items []keyring.OpenItem) ([]keyring.OpenResult, error) {
	switch {
	case k.opens != nil:
		return k.opens(k.Keyring, items)
	case k.open == nil:
		return k.Keyring.Open(ctx, items)
	}
	results := make([]keyring.OpenResult, len(items))
	for i, it := range items {
		text, err := k.open(single{k.Keyring}, it.Scope, it.Token, it.Sealed)
		if results[i].Err = err; err == nil {
			results[i].Value = keyring.NewValue(string(text))
		}
	}
	return results, nil
}

func (k *keyringMutant) Format(f fmt.State, verb rune) {
	if k.printed {
		_, _ = fmt.Fprintf(f, "keyring of %s", strings.Repeat("secret", 3))
		return
	}
	_, _ = fmt.Fprint(f, "[redacted]")
}

func (k *keyringMutant) MarshalText() ([]byte, error) { return []byte(fmt.Sprint(k)), nil }

// keyringHarness opens mutants.
func keyringHarness(mutate func(*keyringMutant)) vaulttest.KeyringHarness {
	open := func(installation byte) func(t *testing.T, generations ...int) keyring.Keyring {
		return func(t *testing.T, generations ...int) keyring.Keyring {
			m := &keyringMutant{Keyring: testKeyring(t, installation, generations...)}
			mutate(m)
			return m
		}
	}
	return vaulttest.KeyringHarness{Open: open(1), Foreign: open(2)}
}

// frugal is a keyring that takes little at once, and nothing over that.
type frugal struct {
	keyring.Keyring
	limits keyring.Limits
}

func (k frugal) Limits() keyring.Limits { return k.limits }

func (k frugal) check(items int, size func(i int) int) error {
	bytes := 0
	for i := range items {
		bytes += size(i)
	}
	if items > k.limits.Items || items > 1 && bytes > k.limits.Bytes {
		return fmt.Errorf("%d items of %d bytes are too many", items, bytes)
	}
	return nil
}

func (k frugal) Fingerprint(ctx context.Context, version int, items []keyring.FingerprintItem, dst []keyring.Fingerprint) error {
	if err := k.check(len(items), func(i int) int { return len(items[i].Value.Reveal()) }); err != nil {
		return err
	}
	return k.Keyring.Fingerprint(ctx, version, items, dst)
}

func (k frugal) Seal(ctx context.Context, items []keyring.SealItem) ([]keyring.SealResult, error) {
	if err := k.check(len(items), func(i int) int { return len(items[i].Value.Reveal()) }); err != nil {
		return nil, err
	}
	return k.Keyring.Seal(ctx, items)
}

func (k frugal) Open(ctx context.Context, items []keyring.OpenItem) ([]keyring.OpenResult, error) {
	if err := k.check(len(items), func(i int) int { return len(items[i].Sealed.Ciphertext) }); err != nil {
		return nil, err
	}
	return k.Keyring.Open(ctx, items)
}

func (k frugal) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, "[redacted]") }

func (k frugal) MarshalText() ([]byte, error) { return []byte(fmt.Sprint(k)), nil }

// TestFrugalKeyring: the suite asks for no more at once than a keyring takes.
func TestFrugalKeyring(t *testing.T) {
	for _, limits := range []keyring.Limits{{Items: 3, Bytes: 100}, {Items: 1000, Bytes: 4096}, {Items: 1000, Bytes: 1}} {
		vaulttest.RunKeyring(t, vaulttest.KeyringHarness{Open: func(t *testing.T, generations ...int) keyring.Keyring {
			return frugal{testKeyring(t, 1, generations...), limits}
		}})
	}
}

// TestKeyringSuite proves the suite of keyrings.
func TestKeyringSuite(t *testing.T) {
	faithful := keyringHarness(func(*keyringMutant) {})
	p := &conformance.Proof[vaulttest.KeyringHarness]{
		Run:      vaulttest.RunKeyring,
		Faithful: faithful,
		Lacking:  map[string]vaulttest.KeyringHarness{"Foreign": {Open: faithful.Open}},
	}
	for _, c := range slices.Concat(keyringChanges, batchChanges) {
		p.Add(c.name, keyringHarness(c.mutate), strings.Fields(c.breaks)...)
	}
	conformance.Prove(t, p)
}
