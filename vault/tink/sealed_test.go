package tink_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/prf"
	tinkpb "github.com/tink-crypto/tink-go/v2/proto/tink_go_proto"
	tinkgo "github.com/tink-crypto/tink-go/v2/tink"

	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/tink"
)

// sealed writes a keyset as Tink does.
func sealed(t testing.TB, h *keyset.Handle, kek tinkgo.AEAD) (json, binary []byte) {
	t.Helper()
	var j, b bytes.Buffer
	require.NoError(t, h.Write(keyset.NewJSONWriter(&j), kek))
	require.NoError(t, h.Write(keyset.NewBinaryWriter(&b), kek))
	return j.Bytes(), b.Bytes()
}

func TestGenerate(t *testing.T) {
	kek := newKEK(t)
	fingerprints, seals, err := tink.Generate(kek)
	require.NoError(t, err)
	k, err := tink.Read(fingerprints, seals, kek)
	require.NoError(t, err)

	// They are Tink's own format.
	f, err := keyset.Read(keyset.NewJSONReader(bytes.NewReader(fingerprints)), kek)
	require.NoError(t, err)
	s, err := keyset.Read(keyset.NewJSONReader(bytes.NewReader(seals)), kek)
	require.NoError(t, err)
	require.Equal(t, "type.googleapis.com/google.crypto.tink.HmacPrfKey", f.KeysetInfo().GetKeyInfo()[0].GetTypeUrl())
	require.Equal(t, "type.googleapis.com/google.crypto.tink.XAesGcmKey", s.KeysetInfo().GetKeyInfo()[0].GetTypeUrl())
	versions, err := k.Versions(t.Context())
	require.NoError(t, err)
	require.Equal(t, keyring.Versions{Fingerprint: ids(f)[0], Seal: ids(s)[0]}, versions)

	again, _, err := tink.Generate(kek)
	require.NoError(t, err)
	require.NotEqual(t, fingerprints, again)
	requireNoKeys(t, string(fingerprints)+string(seals), f, s)
}

// What others wrote with Tink is read as it is, in both formats, and also mixed.
func TestReadsWhatTinkWrites(t *testing.T) {
	want, fingerprints, seals := newKeyring(t)
	kek := newKEK(t)
	fJSON, fBinary := sealed(t, fingerprints, kek)
	sJSON, sBinary := sealed(t, seals, kek)
	for _, f := range [][]byte{fJSON, fBinary, []byte("\n\t " + string(fJSON) + "\n")} {
		for _, s := range [][]byte{sJSON, sBinary} {
			k, err := tink.Read(f, s, kek)
			require.NoError(t, err)
			version := ids(fingerprints)[0]
			require.Equal(t, fingerprint(t, want, version, scope, "ada"), fingerprint(t, k, version, scope, "ada"))
			value, err := sealOne(t, want, scope, "tok", "ada")
			require.NoError(t, err)
			plain, err := openOne(t, k, scope, "tok", value)
			require.NoError(t, err)
			require.Equal(t, "ada", plain)
		}
	}
	var nilKeyring *tink.Keyring
	k, err := tink.Read(sJSON, fJSON, kek)
	require.ErrorContains(t, err, "it is no PRF key")
	require.Equal(t, nilKeyring, k)
}

func TestKeyEncryptionKeyFails(t *testing.T) {
	kek := newKEK(t)
	f, s, err := tink.Generate(kek)
	require.NoError(t, err)
	_, binary := sealed(t, newKeyset(t, prf.HMACSHA256PRFKeyTemplate()), kek)
	for _, sealed := range [][]byte{f, binary} {
		_, err = tink.Read(sealed, s, newKEK(t))
		require.ErrorContains(t, err, "tink: the keyset for fingerprints: the key-encryption key failed: ")
		_, err = tink.Read(sealed, s, down{})
		require.ErrorIs(t, err, errDown)
		_, err = tink.Read(sealed, s, nil)
		require.EqualError(t, err, "tink: the keyset for fingerprints: it needs a key-encryption key")
		_, err = tink.Update(sealed, down{}, func(*keyset.Manager) error { return nil })
		require.ErrorIs(t, err, errDown)
	}
	_, other, err := tink.Generate(newKEK(t))
	require.NoError(t, err)
	_, err = tink.Read(f, other, kek)
	require.ErrorContains(t, err, "tink: the keyset for seals: the key-encryption key failed: ")
	_, _, err = tink.Generate(down{})
	require.ErrorIs(t, err, errDown)
	_, _, err = tink.Generate(nil)
	require.ErrorContains(t, err, "it needs a key-encryption key")
	_, err = tink.Update(f, nil, func(*keyset.Manager) error { return nil })
	require.ErrorContains(t, err, "it needs a key-encryption key")
}

// A KMS that cannot seal the changed keyset loses nothing: the caller still has the one
// before.
func TestUpdateFailsToSeal(t *testing.T) {
	kek := newKEK(t)
	f, _, err := tink.Generate(kek)
	require.NoError(t, err)
	before := bytes.Clone(f)
	changed, err := tink.Update(f, readOnly{kek}, func(m *keyset.Manager) error { _, err := m.Add(prf.HMACSHA256PRFKeyTemplate()); return err })
	require.ErrorIs(t, err, errDown)
	require.Nil(t, changed)
	require.Equal(t, before, f)
}

// readOnly is a key-encryption key that this process may not encrypt with.
type readOnly struct{ tinkgo.AEAD }

func (readOnly) Encrypt([]byte, []byte) ([]byte, error) { return nil, errDown }

func TestSealedKeysetsThatAreDamaged(t *testing.T) {
	kek := newKEK(t)
	h := newKeyset(t, prf.HMACSHA256PRFKeyTemplate())
	json, binary := sealed(t, h, kek)
	_, seals, err := tink.Generate(kek)
	require.NoError(t, err)
	refused := func(damaged []byte) {
		t.Helper()
		k, err := tink.Read(damaged, seals, kek)
		require.Nil(t, k)
		require.ErrorContains(t, err, "tink: the keyset for fingerprints: ")
		requireNoKeys(t, err.Error(), h)
		_, err = tink.Update(damaged, kek, func(*keyset.Manager) error { t.Error("called"); return nil })
		require.Error(t, err)
	}
	for i := range binary {
		refused(binary[:i])
		flipped := bytes.Clone(binary)
		flipped[i] ^= 1
		refused(flipped)
	}
	for i := range json {
		refused(json[:i])
	}
	refused([]byte(`{}`))
	refused([]byte(`{"encryptedKeyset":""}`))
	refused([]byte(`[` + string(json) + `]`))
	refused([]byte(`null`))
}

// A keyset that is not sealed is refused before anybody is asked, and without a word of
// it in the error.
func TestKeysetsThatAreNotSealed(t *testing.T) {
	h := newKeyset(t, prf.HMACSHA256PRFKeyTemplate())
	var json, binary bytes.Buffer
	require.NoError(t, insecurecleartextkeyset.Write(h, keyset.NewJSONWriter(&json)))
	require.NoError(t, insecurecleartextkeyset.Write(h, keyset.NewBinaryWriter(&binary)))
	text := json.String()
	for _, clear := range []string{
		text, binary.String(), strings.Trim(text, "{}"),
		strings.Replace(text, `"value":`, `"value":!`, 1), strings.ReplaceAll(text, `"keyData"`, `keyData`),
	} {
		_, err := tink.Read([]byte(clear), nil, notAsked{t})
		require.EqualError(t, err, "tink: the keyset for fingerprints: it is no sealed keyset in Tink's JSON or binary format")
	}
}

// notAsked is a key-encryption key that must not be used.
type notAsked struct{ t *testing.T }

func (n notAsked) Encrypt([]byte, []byte) ([]byte, error) { n.t.Error("asked"); return nil, errDown }
func (n notAsked) Decrypt([]byte, []byte) ([]byte, error) { n.t.Error("asked"); return nil, errDown }

// Keysets that were sealed well can still be no use.
func TestKeysetsThatTinkRefuses(t *testing.T) {
	_, seals := sealed(t, newKeyset(t, aead.AES256GCMKeyTemplate()), open{})
	for name, damage := range map[string]func(*tinkpb.Keyset){
		"no keys":          func(k *tinkpb.Keyset) { k.Key = nil },
		"no primary":       func(k *tinkpb.Keyset) { k.PrimaryKeyId = k.Key[0].KeyId + 1 },
		"disabled primary": func(k *tinkpb.Keyset) { k.Key[0].Status = tinkpb.KeyStatusType_DISABLED },
		"destroyed":        func(k *tinkpb.Keyset) { k.Key[0].Status = tinkpb.KeyStatusType_DESTROYED },
		"two of one ID":    func(k *tinkpb.Keyset) { k.Key = append(k.Key, k.Key[0]) },
		"unknown type":     func(k *tinkpb.Keyset) { k.Key[0].KeyData.TypeUrl += "x" },
		"other type":       func(k *tinkpb.Keyset) { k.Key[0].KeyData.TypeUrl = "type.googleapis.com/google.crypto.tink.AesGcmKey" },
		"no key":           func(k *tinkpb.Keyset) { k.Key[0].KeyData.Value = nil },
		"no key data":      func(k *tinkpb.Keyset) { k.Key[0].KeyData = nil },
		"short key": func(k *tinkpb.Keyset) {
			k.Key[0].KeyData.Value = append(k.Key[0].KeyData.Value[:6], 0x1a, 2, 1, 2)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newKeyset(t, prf.HMACSHA256PRFKeyTemplate())
			p := proto(t, h)
			damage(p)
			var clear, wrapped bytes.Buffer
			require.NoError(t, keyset.NewBinaryWriter(&clear).Write(p))
			require.NoError(t, keyset.NewBinaryWriter(&wrapped).WriteEncrypted(&tinkpb.EncryptedKeyset{EncryptedKeyset: clear.Bytes()}))
			_, err := tink.Read(wrapped.Bytes(), seals, open{})
			require.ErrorContains(t, err, "tink: the keyset for fingerprints: ")
			requireNoKeys(t, err.Error(), h)
		})
	}
}

func TestUpdate(t *testing.T) {
	kek := newKEK(t)
	json, binary := sealed(t, newKeyset(t, prf.HMACSHA256PRFKeyTemplate()), kek)
	for name, before := range map[string][]byte{"JSON": json, "binary": binary} {
		t.Run(name, func(t *testing.T) {
			var added uint32
			after, err := tink.Update(before, kek, func(m *keyset.Manager) (err error) {
				added, err = m.Add(prf.HMACSHA512PRFKeyTemplate())
				return err
			})
			require.NoError(t, err)
			var r keyset.Reader = keyset.NewBinaryReader(bytes.NewReader(after))
			if name == "JSON" {
				r = keyset.NewJSONReader(bytes.NewReader(after))
			}
			h, err := keyset.Read(r, kek)
			require.NoError(t, err)
			require.Equal(t, int(added), ids(h)[1])
			require.NotEqual(t, added, h.KeysetInfo().GetPrimaryKeyId())
			_, seals, err := tink.Generate(kek)
			require.NoError(t, err)
			_, err = tink.Read(after, seals, kek)
			require.NoError(t, err)
		})
	}

	// What the function refuses is refused, and its error is the caller's own.
	wrong := errors.New("wrong")
	_, err := tink.Update(json, kek, func(*keyset.Manager) error { return wrong })
	require.Equal(t, wrong, err)
	_, err = tink.Update(json, kek, func(m *keyset.Manager) error { *m = *keyset.NewManager(); return nil })
	require.ErrorContains(t, err, "tink: the changed keyset: ")
}

// A KMS that needs a context, or keysets sealed with associated data: Tink reads them,
// and New takes what it read.
func TestNewTakesWhatTinkRead(t *testing.T) {
	kek := withContext{newKEK(t)}
	_, fingerprints, seals := newKeyring(t)
	read := func(h *keyset.Handle) *keyset.Handle {
		var file bytes.Buffer
		require.NoError(t, h.WriteWithContext(t.Context(), keyset.NewJSONWriter(&file), kek, []byte("mortise")))
		h, err := keyset.ReadWithContext(t.Context(), keyset.NewJSONReader(&file), kek, []byte("mortise"))
		require.NoError(t, err)
		return h
	}
	_, err := tink.New(read(fingerprints), read(seals))
	require.NoError(t, err)
}

type withContext struct{ kek tinkgo.AEAD }

func (w withContext) EncryptWithContext(_ context.Context, plaintext, associatedData []byte) ([]byte, error) {
	return w.kek.Encrypt(plaintext, associatedData)
}

func (w withContext) DecryptWithContext(_ context.Context, ciphertext, associatedData []byte) ([]byte, error) {
	return w.kek.Decrypt(ciphertext, associatedData)
}
