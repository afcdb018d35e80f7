package vaulttest_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/seed-6363c74e/mortise/vault/keyring"
)

type keyringChange struct {
	name   string
	breaks string // ids of rules
	mutate func(*keyringMutant)
}

// bg is the context of the keyrings behind mutants, which ask nobody.
var bg = context.Background()

// elsewhere makes fingerprints and ciphertexts of another scope than it should.
func elsewhere(change func(keyring.Scope) keyring.Scope) func(*keyringMutant) {
	return func(m *keyringMutant) {
		m.fingerprint = func(k single, version int, s keyring.Scope, values []string, dst []keyring.Fingerprint) error {
			return k.Fingerprint(bg, version, change(s), values, dst)
		}
		m.seal = func(k single, s keyring.Scope, token string, plaintext []byte) (keyring.Sealed, error) {
			return k.Seal(bg, change(s), token, plaintext)
		}
		m.open = func(k single, s keyring.Scope, token string, sealed keyring.Sealed) ([]byte, error) {
			return k.Open(bg, change(s), token, sealed)
		}
	}
}

// ofToken seals for another token than it should.
func ofToken(change func(string) string) func(*keyringMutant) {
	return func(m *keyringMutant) {
		m.seal = func(k single, s keyring.Scope, token string, plaintext []byte) (keyring.Sealed, error) {
			return k.Seal(bg, s, change(token), plaintext)
		}
		m.open = func(k single, s keyring.Scope, token string, sealed keyring.Sealed) ([]byte, error) {
			return k.Open(bg, s, change(token), sealed)
		}
	}
}

// digesting makes a mutant whose fingerprints are other ones.
func digesting(digest func(version int, s keyring.Scope, value string, right keyring.Fingerprint) keyring.Fingerprint) func(*keyringMutant) {
	return func(m *keyringMutant) {
		m.fingerprint = func(k single, version int, s keyring.Scope, values []string, dst []keyring.Fingerprint) error {
			if err := k.Fingerprint(bg, version, s, values, dst); err != nil {
				return err
			}
			for i := range values {
				dst[i] = digest(version, s, values[i], dst[i])
			}
			return nil
		}
	}
}

// ofValue makes fingerprints of another value than it should.
func ofValue(change func(string) string) func(*keyringMutant) {
	return func(m *keyringMutant) {
		m.fingerprint = func(k single, version int, s keyring.Scope, values []string, dst []keyring.Fingerprint) error {
			changed := make([]string, len(values))
			for i := range values {
				changed[i] = change(values[i])
			}
			return k.Fingerprint(bg, version, s, changed, dst)
		}
	}
}

var keyringChanges = []keyringChange{
	{"numbers versions from 0", "keyring/versions-are-above-zero", func(m *keyringMutant) {
		m.versions = func(v keyring.Versions) keyring.Versions {
			v.Lookup = slices.Clone(v.Lookup)
			for i := range v.Lookup {
				v.Lookup[i]--
			}
			return v
		}
	}},
	{"names the primary version twice", "keyring/versions-are-above-zero keyring/versions-say-what-is-loaded keyring/versions-stay", func(m *keyringMutant) {
		m.versions = func(v keyring.Versions) keyring.Versions {
			v.Lookup = append([]int{v.Fingerprint}, v.Lookup...)
			return v
		}
	}},
	{"always calls the primary version 9", "keyring/versions-stay keyring/versions-say-what-is-loaded", func(m *keyringMutant) {
		m.versions = func(v keyring.Versions) keyring.Versions { v.Fingerprint = 9; return v }
	}},
	{"salts fingerprints", "keyring/fingerprint-is-always-the-same keyring/fingerprint-batches keyring/keeps-nothing keyring/concurrent", func(m *keyringMutant) {
		var calls atomic.Int32
		digesting(func(_ int, _ keyring.Scope, _ string, f keyring.Fingerprint) keyring.Fingerprint {
			f[0] ^= byte(calls.Add(1))
			return f
		})(m)
	}},
	{"digests values without a key", "keyring/fingerprint-is-no-plain-digest keyring/fingerprint-differs-by-scope keyring/fingerprint-needs-the-key",
		digesting(func(_ int, _ keyring.Scope, value string, _ keyring.Fingerprint) keyring.Fingerprint {
			return sha256.Sum256([]byte(value))
		})},
	{"keys digests with the scope", "keyring/fingerprint-needs-the-key keyring/fingerprint-differs-by-version",
		digesting(func(_ int, s keyring.Scope, value string, _ keyring.Fingerprint) keyring.Fingerprint {
			h := hmac.New(sha256.New, fmt.Appendf(nil, "%q", s))
			h.Write([]byte(value))
			return keyring.Fingerprint(h.Sum(nil))
		})},
	{"digests with one version for all", "keyring/fingerprint-differs-by-version keyring/fingerprint-unknown-version", func(m *keyringMutant) {
		m.fingerprint = func(k single, _ int, s keyring.Scope, values []string, dst []keyring.Fingerprint) error {
			v, _ := k.Versions(bg)
			return k.Fingerprint(bg, v.Fingerprint, s, values, dst)
		}
	}},
	{"ignores case of values", "keyring/fingerprint-differs-by-value", ofValue(strings.ToLower)},
	{"cuts values at U+0000", "keyring/fingerprint-differs-by-value", ofValue(func(s string) string { s, _, _ = strings.Cut(s, "\x00"); return s })},
	{"digests the beginning of long values", "keyring/fingerprint-differs-by-value", ofValue(func(s string) string { return s[:min(len(s), 1024)] })},
	{"repairs values", "keyring/fingerprint-differs-by-value", ofValue(func(s string) string { return strings.ToValidUTF8(s, "\ufffd") })},
	{"knows no organizations", "keyring/fingerprint-differs-by-scope keyring/open-in-another-scope", elsewhere(func(s keyring.Scope) keyring.Scope { s.Organization = ""; return s })},
	{"knows no vaults", "keyring/fingerprint-differs-by-scope keyring/open-in-another-scope", elsewhere(func(s keyring.Scope) keyring.Scope { s.Vault = ""; return s })},
	{"knows no scopes", "keyring/fingerprint-differs-by-scope keyring/open-in-another-scope", elsewhere(func(s keyring.Scope) keyring.Scope { s.Name = ""; return s })},
	{"glues scopes together", "keyring/fingerprint-differs-by-scope keyring/open-in-another-scope", elsewhere(func(s keyring.Scope) keyring.Scope {
		return keyring.Scope{Name: s.Organization + s.Vault + s.Name}
	})},
	{"glues scopes together with U+0000", "keyring/fingerprint-differs-by-scope keyring/open-in-another-scope", elsewhere(func(s keyring.Scope) keyring.Scope {
		return keyring.Scope{Name: s.Organization + "\x00" + s.Vault + "\x00" + s.Name}
	})},
	{"glues scopes together with /", "keyring/fingerprint-differs-by-scope keyring/open-in-another-scope", elsewhere(func(s keyring.Scope) keyring.Scope {
		return keyring.Scope{Name: s.Organization + "/" + s.Vault + "/" + s.Name}
	})},
	{"sorts a batch", "keyring/fingerprint-batches keyring/fingerprint-is-always-the-same", func(m *keyringMutant) {
		m.fingerprint = func(k single, version int, s keyring.Scope, values []string, dst []keyring.Fingerprint) error {
			return k.Fingerprint(bg, version, s, slices.Sorted(slices.Values(values)), dst)
		}
	}},
	{"takes a hundred values", "keyring/fingerprint-batches", func(m *keyringMutant) {
		m.fingerprint = func(k single, version int, s keyring.Scope, values []string, dst []keyring.Fingerprint) error {
			n := min(100, len(values))
			return k.Fingerprint(bg, version, s, values[:n], dst[:n])
		}
	}},
	{"seals empty values as nothing", "keyring/seal-and-open", func(m *keyringMutant) {
		m.seal = func(k single, s keyring.Scope, token string, plaintext []byte) (keyring.Sealed, error) {
			if len(plaintext) == 0 {
				return keyring.Sealed{Version: 1}, nil
			}
			return k.Seal(bg, s, token, plaintext)
		}
	}},
	{"trims values", "keyring/seal-and-open", func(m *keyringMutant) {
		m.seal = func(k single, s keyring.Scope, token string, plaintext []byte) (keyring.Sealed, error) {
			return k.Seal(bg, s, token, bytes.TrimSpace(plaintext))
		}
	}},
	{"says another version than it sealed with", "keyring/seal-names-its-version keyring/seal-and-open", func(m *keyringMutant) {
		m.seal = func(k single, s keyring.Scope, token string, plaintext []byte) (keyring.Sealed, error) {
			sealed, err := k.Seal(bg, s, token, plaintext)
			sealed.Version++
			return sealed, err
		}
	}},
	{"does not encrypt", "keyring/seal-hides", func(m *keyringMutant) {
		m.seal = func(k single, s keyring.Scope, token string, plaintext []byte) (keyring.Sealed, error) {
			sealed, err := k.Seal(bg, s, token, plaintext)
			sealed.Ciphertext = append(sealed.Ciphertext, plaintext...)
			return sealed, err
		}
	}},
	{"seals a value always the same", "keyring/seal-hides", func(m *keyringMutant) {
		kept := make(map[string]keyring.Sealed)
		m.seal = func(k single, s keyring.Scope, token string, plaintext []byte) (keyring.Sealed, error) {
			key := fmt.Sprintf("%q %q %q", s, token, plaintext)
			if _, ok := kept[key]; !ok {
				sealed, err := k.Seal(bg, s, token, plaintext)
				if err != nil {
					return sealed, err
				}
				kept[key] = sealed
			}
			return kept[key], nil
		}
	}},
	{"opens what its own version sealed", "keyring/seal-of-older-keys", func(m *keyringMutant) {
		m.open = func(k single, s keyring.Scope, token string, sealed keyring.Sealed) ([]byte, error) {
			if v, _ := k.Versions(bg); v.Seal != sealed.Version {
				return nil, keyring.ErrUnknownKey
			}
			return k.Open(bg, s, token, sealed)
		}
	}},
	{"seals for any token", "keyring/open-for-another-token", ofToken(func(string) string { return "" })},
	{"ignores case of tokens", "keyring/open-for-another-token", ofToken(strings.ToLower)},
	{"glues scope and token together", "keyring/open-for-another-token", func(m *keyringMutant) {
		m.seal = func(k single, s keyring.Scope, token string, plaintext []byte) (keyring.Sealed, error) {
			s.Name += token
			return k.Seal(bg, s, "", plaintext)
		}
		m.open = func(k single, s keyring.Scope, token string, sealed keyring.Sealed) ([]byte, error) {
			s.Name += token
			return k.Open(bg, s, "", sealed)
		}
	}},
	{"tries all versions", "keyring/open-of-another-version keyring/open-unknown-version", func(m *keyringMutant) {
		m.open = func(k single, s keyring.Scope, token string, sealed keyring.Sealed) ([]byte, error) {
			for sealed.Version = 1; sealed.Version <= 3; sealed.Version++ {
				if plaintext, err := k.Open(bg, s, token, sealed); err == nil {
					return plaintext, nil
				}
			}
			return nil, keyring.ErrCorrupt
		}
	}},
	{"takes an unknown version for corruption", "keyring/open-unknown-version", func(m *keyringMutant) {
		m.open = func(k single, s keyring.Scope, token string, sealed keyring.Sealed) ([]byte, error) {
			plaintext, err := k.Open(bg, s, token, sealed)
			if errors.Is(err, keyring.ErrUnknownKey) {
				return nil, keyring.ErrCorrupt
			}
			return plaintext, err
		}
	}},
	{"takes corruption for an unknown version", "keyring/open-flipped-bit keyring/open-cut keyring/open-in-another-scope keyring/open-for-another-token keyring/open-of-another-version keyring/open-needs-the-key", func(m *keyringMutant) {
		m.open = func(k single, s keyring.Scope, token string, sealed keyring.Sealed) ([]byte, error) {
			plaintext, err := k.Open(bg, s, token, sealed)
			if errors.Is(err, keyring.ErrCorrupt) {
				return nil, keyring.ErrUnknownKey
			}
			return plaintext, err
		}
	}},
	{"has a byte that does not matter", "keyring/open-flipped-bit", func(m *keyringMutant) {
		m.seal = func(k single, s keyring.Scope, token string, plaintext []byte) (keyring.Sealed, error) {
			sealed, err := k.Seal(bg, s, token, plaintext)
			sealed.Ciphertext = append([]byte{1}, sealed.Ciphertext...)
			return sealed, err
		}
		m.open = func(k single, s keyring.Scope, token string, sealed keyring.Sealed) ([]byte, error) {
			if len(sealed.Ciphertext) == 0 {
				return nil, keyring.ErrCorrupt
			}
			sealed.Ciphertext = sealed.Ciphertext[1:]
			return k.Open(bg, s, token, sealed)
		}
	}},
	{"ignores what is behind", "keyring/open-cut", func(m *keyringMutant) {
		m.open = func(k single, s keyring.Scope, token string, sealed keyring.Sealed) ([]byte, error) {
			plaintext, err := k.Open(bg, s, token, sealed)
			if n := len(sealed.Ciphertext); err != nil && n > 0 {
				sealed.Ciphertext = sealed.Ciphertext[:n-1]
				return k.Open(bg, s, token, sealed)
			}
			return plaintext, err
		}
	}},
	{"shows the value and what is sealed in errors", "keyring/errors-hold-nothing", func(m *keyringMutant) {
		m.open = func(k single, s keyring.Scope, token string, sealed keyring.Sealed) ([]byte, error) {
			plaintext, err := k.Open(bg, s, token, sealed)
			if err != nil {
				err = fmt.Errorf("open %x: %w", sealed.Ciphertext, err)
			}
			return plaintext, err
		}
	}},
	{"shows values in errors", "keyring/errors-hold-nothing", func(m *keyringMutant) {
		m.fingerprint = func(k single, version int, s keyring.Scope, values []string, dst []keyring.Fingerprint) error {
			if err := k.Fingerprint(bg, version, s, values, dst); err != nil {
				return fmt.Errorf("fingerprint %q: %w", values, err)
			}
			return nil
		}
	}},
	{"prints itself", "keyring/prints-as-redacted", func(m *keyringMutant) { m.printed = true }},
	{"forgets the items in their slice", "keyring/keeps-nothing", func(m *keyringMutant) {
		m.seals = func(k keyring.Keyring, items []keyring.SealItem) ([]keyring.SealResult, error) {
			defer clear(items)
			return k.Seal(bg, items)
		}
	}},
	{"opens in place", "keyring/keeps-nothing", func(m *keyringMutant) {
		m.open = func(k single, s keyring.Scope, token string, sealed keyring.Sealed) ([]byte, error) {
			plaintext, err := k.Open(bg, s, token, sealed)
			return append(sealed.Ciphertext[:0], plaintext...), err
		}
	}},
}
