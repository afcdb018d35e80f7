package tink_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/prf"
	tinkpb "github.com/tink-crypto/tink-go/v2/proto/tink_go_proto"

	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/tink"
	"github.com/seed-6363c74e/mortise/vault/vaulttest"
)

// A generation is the key of its place in each of two keysets.
func TestKeyring(t *testing.T) {
	for name, of := range map[string]struct{ fingerprints, seals *tinkpb.KeyTemplate }{
		"what Generate takes":                 {prf.HMACSHA256PRFKeyTemplate(), aead.XAES256GCM192BitNonceKeyTemplate()},
		"HMAC-SHA-512 and AES-256-GCM":        {prf.HMACSHA512PRFKeyTemplate(), aead.AES256GCMKeyTemplate()},
		"HKDF and AES-256-GCM without prefix": {prf.HKDFSHA256PRFKeyTemplate(), aead.AES256GCMNoPrefixKeyTemplate()},
		"HMAC-SHA-256 and AES-256-CTR-HMAC":   {prf.HMACSHA256PRFKeyTemplate(), aead.AES256CTRHMACSHA256KeyTemplate()},
		"HMAC-SHA-256 and XChaCha20-Poly1305": {prf.HMACSHA256PRFKeyTemplate(), aead.XChaCha20Poly1305KeyTemplate()},
	} {
		t.Run(name, func(t *testing.T) {
			fingerprints := newKeyset(t, of.fingerprints, of.fingerprints, of.fingerprints)
			seals := newKeyset(t, of.seals, of.seals, of.seals)
			foreignFingerprints := withKeysOf(t, fingerprints, newKeyset(t, of.fingerprints, of.fingerprints, of.fingerprints))
			foreignSeals := withKeysOf(t, seals, newKeyset(t, of.seals, of.seals, of.seals))
			open := func(fingerprints, seals *keyset.Handle) func(*testing.T, ...int) keyring.Keyring {
				return func(t *testing.T, generations ...int) keyring.Keyring {
					k, err := tink.New(pick(t, fingerprints, generations), pick(t, seals, generations))
					require.NoError(t, err)
					return k
				}
			}
			vaulttest.RunKeyring(t, vaulttest.KeyringHarness{Open: open(fingerprints, seals), Foreign: open(foreignFingerprints, foreignSeals)})
		})
	}
}

// pick returns a keyset without the keys of other generations. The first generation is
// the primary one.
func pick(t testing.TB, h *keyset.Handle, generations []int) *keyset.Handle {
	return change(t, h, func(m *keyset.Manager) error {
		all := ids(h)
		if err := m.SetPrimary(uint32(all[generations[0]-1])); err != nil {
			return err
		}
		for i, id := range all {
			if slices.Contains(generations, i+1) {
				continue
			}
			if err := m.Delete(uint32(id)); err != nil {
				return err
			}
		}
		return nil
	})
}

// withKeysOf returns a keyset with the IDs of one and the keys of another.
func withKeysOf(t testing.TB, h, other *keyset.Handle) *keyset.Handle {
	t.Helper()
	made := proto(t, h)
	for i, key := range proto(t, other).GetKey() {
		made.Key[i].KeyData = key.GetKeyData()
	}
	return parsed(t, made)
}
