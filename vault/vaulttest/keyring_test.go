package vaulttest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/vaulttest"
)

// keyringMutant is a keyring with some methods replaced. A nil function leaves the method as it is.
type keyringMutant struct {
	vault.Keyring
	versions    func(vault.Versions) vault.Versions
	fingerprint func(k vault.Keyring, version int, s vault.Scope, values []string, dst []vault.Fingerprint) error
	seal        func(k vault.Keyring, s vault.Scope, token string, plaintext []byte) (vault.Sealed, error)
	open        func(k vault.Keyring, s vault.Scope, token string, sealed vault.Sealed) ([]byte, error)
	printed     bool
}

func (k *keyringMutant) Versions(ctx context.Context) (vault.Versions, error) {
	v, err := k.Keyring.Versions(ctx)
	if k.versions != nil {
		v = k.versions(v)
	}
	return v, err
}

func (k *keyringMutant) Fingerprint(ctx context.Context, version int, s vault.Scope, values []string, dst []vault.Fingerprint) error {
	if k.fingerprint != nil {
		return k.fingerprint(k.Keyring, version, s, values, dst)
	}
	return k.Keyring.Fingerprint(ctx, version, s, values, dst)
}

func (k *keyringMutant) Seal(ctx context.Context, s vault.Scope, token string, plaintext []byte) (vault.Sealed, error) {
	if k.seal != nil {
		return k.seal(k.Keyring, s, token, plaintext)
	}
	return k.Keyring.Seal(ctx, s, token, plaintext)
}

func (k *keyringMutant) Open(ctx context.Context, s vault.Scope, token string, sealed vault.Sealed) ([]byte, error) {
	if k.open != nil {
		return k.open(k.Keyring, s, token, sealed)
	}
	return k.Keyring.Open(ctx, s, token, sealed)
}

func (k *keyringMutant) Format(f fmt.State, verb rune) {
	if k.printed {
		_, _ = fmt.Fprintf(f, "keyring of %s", strings.Repeat("secret", 3))
		return
	}
	_, _ = fmt.Fprint(f, "[redacted]")
}

func (k *keyringMutant) MarshalText() ([]byte, error) { return []byte(fmt.Sprint(k)), nil }

// keyringHarnesses returns the harness of every mutant.
func keyringHarnesses() map[string]vaulttest.KeyringHarness {
	all := make(map[string]vaulttest.KeyringHarness)
	for _, c := range keyringChanges {
		all[c.name] = keyringHarness(c.mutate)
	}
	return all
}

func keyringHarness(mutate func(*keyringMutant)) vaulttest.KeyringHarness {
	open := func(installation byte) func(t *testing.T, generations ...int) vault.Keyring {
		return func(t *testing.T, generations ...int) vault.Keyring {
			m := &keyringMutant{Keyring: testKeyring(t, installation, generations...)}
			mutate(m)
			return m
		}
	}
	return vaulttest.KeyringHarness{Open: open(1), Foreign: open(2)}
}

func TestFaithfulKeyring(t *testing.T) {
	vaulttest.RunKeyring(t, keyringHarness(func(*keyringMutant) {}))
}

// TestKeyringMutants: each broken keyring fails the rules that it breaks, and there is one for every rule.
func TestKeyringMutants(t *testing.T) {
	m := &conformance.Mutants{Env: envKeyringMutant, Texts: make(map[string]string), Breaks: make(map[string][]string)}
	for _, r := range vaulttest.KeyringRules() {
		m.Texts[r.ID] = r.Text
	}
	for _, c := range keyringChanges {
		m.Breaks[c.name] = c.breaks
	}
	m.Prove(t)
}
