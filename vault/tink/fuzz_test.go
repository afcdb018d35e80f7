package tink_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/prf"
	tinkpb "github.com/tink-crypto/tink-go/v2/proto/tink_go_proto"

	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/tink"
)

// FuzzRead reads anything as keysets. What is read without an error is a keyring that
// does its work. A key-encryption key that does nothing lets the fuzzer see into the
// keysets; wrap says that they still have to be put into an envelope.
func FuzzRead(f *testing.F) {
	fingerprints := newKeyset(f, prf.HMACSHA256PRFKeyTemplate(), prf.HKDFSHA256PRFKeyTemplate(), prf.AESCMACPRFKeyTemplate())
	fingerprints = change(f, fingerprints, func(m *keyset.Manager) error { return m.Disable(uint32(ids(fingerprints)[2])) })
	seals := newKeyset(f, aead.XAES256GCM192BitNonceKeyTemplate(), aead.AES256GCMNoPrefixKeyTemplate(),
		aead.AES128CTRHMACSHA256KeyTemplate(), aead.XChaCha20Poly1305KeyTemplate())
	fJSON, fBinary := sealed(f, fingerprints, open{})
	sJSON, sBinary := sealed(f, seals, open{})
	f.Add(fJSON, sJSON, false)
	f.Add(fBinary, sBinary, false)
	f.Add(clear(f, fingerprints), clear(f, seals), true)
	fJSON, fBinary = sealed(f, fingerprints, newKEK(f))
	f.Add(fJSON, fBinary, false)
	f.Fuzz(func(t *testing.T, fingerprints, seals []byte, wrap bool) {
		if wrap {
			fingerprints, seals = wrapped(t, fingerprints), wrapped(t, seals)
		}
		k, err := tink.Read(fingerprints, seals, open{})
		if err != nil {
			require.Nil(t, k)
			return
		}
		versions, err := k.Versions(t.Context())
		require.NoError(t, err)
		for _, version := range append(versions.Lookup, versions.Fingerprint) {
			require.Positive(t, version)
			require.NotEqual(t, [32]byte{}, fingerprint(t, k, version, scope, "ada"))
			require.NotEqual(t, fingerprint(t, k, version, scope, "bob"), fingerprint(t, k, version, scope, "ada"))
		}
		require.Positive(t, versions.Seal)
		value, err := sealOne(t, k, scope, "tok", "ada")
		require.NoError(t, err)
		plain, err := openOne(t, k, scope, "tok", value)
		require.NoError(t, err)
		require.Equal(t, "ada", plain)
		_, err = openOne(t, k, scope, "other", value)
		require.ErrorIs(t, err, keyring.ErrCorrupt)

		changed, err := tink.Update(fingerprints, open{}, func(*keyset.Manager) error { return nil })
		require.NoError(t, err)
		again, err := tink.Read(changed, seals, open{})
		require.NoError(t, err)
		require.NoError(t, k.Replace(again))
	})
}

// clear writes a keyset as it is.
func clear(t testing.TB, h *keyset.Handle) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, insecurecleartextkeyset.Write(h, keyset.NewBinaryWriter(&b)))
	return b.Bytes()
}

// wrapped is what a key-encryption key would make of some bytes that left them as they
// were.
func wrapped(t testing.TB, inside []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, keyset.NewBinaryWriter(&b).WriteEncrypted(&tinkpb.EncryptedKeyset{EncryptedKeyset: inside}))
	return b.Bytes()
}
