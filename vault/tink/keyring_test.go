package tink_test

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/aead/aesgcm"
	"github.com/tink-crypto/tink-go/v2/daead"
	"github.com/tink-crypto/tink-go/v2/insecuresecretdataaccess"
	"github.com/tink-crypto/tink-go/v2/key"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/mac"
	"github.com/tink-crypto/tink-go/v2/prf"
	"github.com/tink-crypto/tink-go/v2/prf/hmacprf"
	tinkpb "github.com/tink-crypto/tink-go/v2/proto/tink_go_proto"
	"github.com/tink-crypto/tink-go/v2/secretdata"

	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/tink"
)

func TestVersionsAreKeyIDs(t *testing.T) {
	fingerprints := newKeyset(t, prf.HMACSHA256PRFKeyTemplate(), prf.HMACSHA512PRFKeyTemplate(),
		prf.HKDFSHA256PRFKeyTemplate(), prf.HMACSHA256PRFKeyTemplate())
	seals := newKeyset(t, aead.AES256GCMKeyTemplate(), aead.XChaCha20Poly1305KeyTemplate(), aead.AES256GCMKeyTemplate())
	f, s := ids(fingerprints), ids(seals)
	fingerprints = change(t, fingerprints,
		func(m *keyset.Manager) error { return m.SetPrimary(uint32(f[2])) },
		func(m *keyset.Manager) error { return m.Disable(uint32(f[1])) })
	seals = change(t, seals,
		func(m *keyset.Manager) error { return m.SetPrimary(uint32(s[1])) },
		func(m *keyset.Manager) error { return m.Disable(uint32(s[2])) })
	k, err := tink.New(fingerprints, seals)
	require.NoError(t, err)

	got, err := k.Versions(t.Context())
	require.NoError(t, err)
	require.Equal(t, keyring.Versions{Fingerprint: f[2], Lookup: []int{f[0], f[3]}, Seal: s[1]}, got)

	// A key that is disabled is not loaded.
	err = k.Fingerprint(t.Context(), f[1], values(scope, "x"), make([]keyring.Fingerprint, 1))
	require.ErrorIs(t, err, keyring.ErrUnknownKey)
	_, err = openOne(t, k, scope, "t", keyring.Sealed{Version: s[2]})
	require.ErrorIs(t, err, keyring.ErrUnknownKey)
	// The keys of one purpose are not those of the other.
	err = k.Fingerprint(t.Context(), s[1], values(scope, "x"), make([]keyring.Fingerprint, 1))
	require.ErrorIs(t, err, keyring.ErrUnknownKey)
	_, err = openOne(t, k, scope, "t", keyring.Sealed{Version: f[2]})
	require.ErrorIs(t, err, keyring.ErrUnknownKey)
}

func TestFingerprintNeedsRoomForEachValue(t *testing.T) {
	k, fingerprints, _ := newKeyring(t)
	for _, room := range []int{0, 1, 3} {
		require.Error(t, k.Fingerprint(t.Context(), ids(fingerprints)[0], values(scope, "a", "b"), make([]keyring.Fingerprint, room)))
	}
}

// known returns a keyset of one key that the test knows.
func known(t *testing.T, key key.Key, err error) (h *keyset.Handle, version int) {
	t.Helper()
	require.NoError(t, err)
	m := keyset.NewManager()
	id, err := m.AddKey(key)
	require.NoError(t, err)
	require.NoError(t, m.SetPrimary(id))
	h, err = m.Handle()
	require.NoError(t, err)
	return h, int(id)
}

// written writes parts as the documentation of the package says, by other means.
func written(purpose string, version int, parts ...string) string {
	number := func(n int) string { return string(binary.BigEndian.AppendUint64(nil, uint64(n))) }
	all := number(len(purpose)) + purpose + number(version)
	for _, part := range parts {
		all += number(len(part)) + part
	}
	return all
}

// What is stored is computed as documented. Else a later version of this package would
// not find or open it.
func TestComputesWhatIsDocumented(t *testing.T) {
	root := []byte("0123456789abcdef0123456789abcdef")
	secret := secretdata.NewBytesFromData(root, insecuresecretdataaccess.Token{})
	hmacParameters, err := hmacprf.NewParameters(len(root), hmacprf.SHA256)
	require.NoError(t, err)
	hmacKey, err := hmacprf.NewKey(secret, hmacParameters)
	fingerprints, f := known(t, hmacKey, err)
	gcmParameters, err := aesgcm.NewParameters(aesgcm.ParametersOpts{
		KeySizeInBytes: 32, IVSizeInBytes: 12, TagSizeInBytes: 16, Variant: aesgcm.VariantNoPrefix,
	})
	require.NoError(t, err)
	gcmKey, err := aesgcm.NewKey(secret, 0, gcmParameters)
	seals, s := known(t, gcmKey, err)
	k, err := tink.New(fingerprints, seals)
	require.NoError(t, err)

	digest := func(key []byte, text string) []byte {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(text))
		return mac.Sum(nil)
	}
	scopeKey := digest(root, written("mortise vault fingerprint v1", f, "acme", "v1", "emails"))
	require.Equal(t, [32]byte(digest(scopeKey, "ada@example.com")), fingerprint(t, k, f, scope, "ada@example.com"))

	sealed, err := sealOne(t, k, scope, "tok", "ada@example.com")
	require.NoError(t, err)
	require.Equal(t, s, sealed.Version)
	block, err := aes.NewCipher(root)
	require.NoError(t, err)
	gcm, err := cipher.NewGCM(block)
	require.NoError(t, err)
	place := written("mortise vault seal v1", s, "acme", "v1", "emails", "tok")
	plain, err := gcm.Open(nil, sealed.Ciphertext[:12], sealed.Ciphertext[12:], []byte(place))
	require.NoError(t, err)
	require.Equal(t, "ada@example.com", string(plain))
}

// The same key bytes under another version make other fingerprints: nobody can tell that
// they are of one value.
func TestFingerprintsBindTheVersion(t *testing.T) {
	fingerprints := proto(t, newKeyset(t, prf.HMACSHA256PRFKeyTemplate(), prf.HMACSHA256PRFKeyTemplate()))
	fingerprints.Key[1].KeyData = fingerprints.Key[0].KeyData
	h := parsed(t, fingerprints)
	k, err := tink.New(h, newKeyset(t, aead.AES256GCMKeyTemplate()))
	require.NoError(t, err)
	require.NotEqual(t, fingerprint(t, k, ids(h)[0], scope, "x"), fingerprint(t, k, ids(h)[1], scope, "x"))
}

// The version decides which key opens. Without a prefix Tink would try all of them, and
// find one that fits.
func TestVersionDecidesWhichKeyOpens(t *testing.T) {
	seals := newKeyset(t, aead.AES256GCMNoPrefixKeyTemplate(), aead.AES256GCMNoPrefixKeyTemplate())
	k, err := tink.New(newKeyset(t, prf.HMACSHA256PRFKeyTemplate()), seals)
	require.NoError(t, err)
	versions := ids(seals)
	second, err := aead.New(pick(t, seals, []int{2}))
	require.NoError(t, err)
	forged, err := second.Encrypt([]byte("ada"), []byte(written("mortise vault seal v1", versions[0], "acme", "v1", "emails", "tok")))
	require.NoError(t, err)
	_, err = openOne(t, k, scope, "tok", keyring.Sealed{Version: versions[0], Ciphertext: forged})
	require.ErrorIs(t, err, keyring.ErrCorrupt)

	// Not even the same key opens what was sealed under another version.
	same := proto(t, seals)
	same.Key[1].KeyData = same.Key[0].KeyData
	k, err = tink.New(newKeyset(t, prf.HMACSHA256PRFKeyTemplate()), parsed(t, same))
	require.NoError(t, err)
	sealed, err := sealOne(t, k, scope, "tok", "ada")
	require.NoError(t, err)
	_, err = openOne(t, k, scope, "tok", keyring.Sealed{Version: versions[1], Ciphertext: sealed.Ciphertext})
	require.ErrorIs(t, err, keyring.ErrCorrupt)
}

func TestKeysetsThatAreNotUsable(t *testing.T) {
	fingerprints, seals := newKeyset(t, prf.HMACSHA256PRFKeyTemplate()), newKeyset(t, aead.AES256GCMKeyTemplate())
	kms, err := aead.CreateKMSEnvelopeAEADKeyTemplate("test-kms://vault", aead.AES256GCMKeyTemplate())
	require.NoError(t, err)
	direct := proto(t, newKeyset(t, aead.AES256GCMKeyTemplate()))
	direct.Key[0].KeyData.TypeUrl = "type.googleapis.com/google.crypto.tink.KmsAeadKey"
	zero := proto(t, newKeyset(t, prf.HMACSHA256PRFKeyTemplate()))
	zero.PrimaryKeyId, zero.Key[0].KeyId = 0, 0
	sha1, err := hmacprf.NewParameters(32, hmacprf.SHA1)
	require.NoError(t, err)
	secret, err := secretdata.NewBytesFromRand(32)
	require.NoError(t, err)
	sha1Key, err := hmacprf.NewKey(secret, sha1)
	short, _ := known(t, sha1Key, err)

	for _, test := range []struct {
		name                string
		fingerprints, seals *keyset.Handle
		want                string
	}{
		{"no fingerprints", nil, seals, `fingerprints: it has no keys`},
		{"no seals", fingerprints, nil, `seals: it has no keys`},
		{"empty", new(keyset.Handle), seals, `fingerprints: it has no keys`},
		{"exchanged", seals, fingerprints, `fingerprints: key \d+ of type AesGcmKey: it is no PRF key`},
		{"one for both", fingerprints, fingerprints, `seals: key \d+ of type HmacPrfKey: it is no AEAD key`},
		{"AES-CMAC", newKeyset(t, prf.AESCMACPRFKeyTemplate()), seals,
			`fingerprints: key \d+ of type AesCmacPrfKey: it makes less than 32 bytes at a time; take HMAC-SHA-256`},
		{"HMAC-SHA-1", short, seals,
			`fingerprints: key \d+ of type HmacPrfKey: it makes less than 32 bytes at a time; take HMAC-SHA-256`},
		{"MAC", newKeyset(t, mac.HMACSHA256Tag256KeyTemplate()), seals, `fingerprints: key \d+ of type HmacKey: it is no PRF key`},
		{"deterministic AEAD", fingerprints, newKeyset(t, daead.AESSIVKeyTemplate()), `seals: key \d+ of type AesSivKey: it is no AEAD key`},
		{"envelope AEAD", fingerprints, newKeyset(t, kms), `seals: key \d+ of type KmsEnvelopeAeadKey: it would ask a KMS for each value`},
		{"AEAD of a KMS", fingerprints, parsed(t, direct), `seals: key \d+ of type KmsAeadKey: it would ask a KMS for each value`},
		{"ID 0", parsed(t, zero), seals, `fingerprints: key 0 of type HmacPrfKey: its ID is no version`},
	} {
		t.Run(test.name, func(t *testing.T) {
			k, err := tink.New(test.fingerprints, test.seals)
			require.Nil(t, k)
			require.Error(t, err)
			require.Regexp(t, `^tink: the keyset for `+test.want, err.Error())
		})
	}

	// The error names the key, and it may stay if it is disabled.
	for wrong, template := range map[string]*tinkpb.KeyTemplate{
		"AesCmacPrfKey": prf.AESCMACPRFKeyTemplate(), "AesGcmKey": aead.AES256GCMKeyTemplate(),
	} {
		mixed := newKeyset(t, prf.HMACSHA256PRFKeyTemplate(), template, prf.HMACSHA256PRFKeyTemplate())
		_, err = tink.New(mixed, seals)
		require.ErrorContains(t, err, fmt.Sprintf("key %d of type %s: ", ids(mixed)[1], wrong))
		_, err = tink.New(change(t, mixed, func(m *keyset.Manager) error { return m.Disable(uint32(ids(mixed)[1])) }), seals)
		require.NoError(t, err)
	}
}

func TestReplace(t *testing.T) {
	k, fingerprints, seals := newKeyring(t)
	f, s := ids(fingerprints), ids(seals)
	sealed, err := sealOne(t, k, scope, "tok", "ada")
	require.NoError(t, err)
	want := fingerprint(t, k, f[0], scope, "ada")

	promoted, err := tink.New(
		change(t, fingerprints, func(m *keyset.Manager) error { return m.SetPrimary(uint32(f[1])) }),
		change(t, seals, func(m *keyset.Manager) error { return m.SetPrimary(uint32(s[1])) }))
	require.NoError(t, err)
	require.NoError(t, k.Replace(promoted))
	versions, err := k.Versions(t.Context())
	require.NoError(t, err)
	require.Equal(t, keyring.Versions{Fingerprint: f[1], Lookup: []int{f[0]}, Seal: s[1]}, versions)
	require.Equal(t, want, fingerprint(t, k, f[0], scope, "ada"))
	plain, err := openOne(t, k, scope, "tok", sealed)
	require.NoError(t, err)
	require.Equal(t, "ada", plain)
	resealed, err := sealOne(t, k, scope, "tok", "ada")
	require.NoError(t, err)
	require.Equal(t, s[1], resealed.Version)

	// A version cannot become another key.
	otherPRF, otherAEAD := proto(t, fingerprints), proto(t, seals)
	otherPRF.Key[1].KeyData = proto(t, newKeyset(t, prf.HKDFSHA256PRFKeyTemplate())).Key[0].KeyData
	otherAEAD.Key[1].KeyData = proto(t, newKeyset(t, aead.AES256GCMNoPrefixKeyTemplate())).Key[0].KeyData
	next, err := tink.New(parsed(t, otherPRF), seals)
	require.NoError(t, err)
	require.EqualError(t, k.Replace(next), fmt.Sprintf("tink: the keyset for fingerprints: key %d is another one than before", f[1]))
	next, err = tink.New(fingerprints, parsed(t, otherAEAD))
	require.NoError(t, err)
	require.EqualError(t, k.Replace(next), fmt.Sprintf("tink: the keyset for seals: key %d is another one than before", s[1]))
	after, err := k.Versions(t.Context())
	require.NoError(t, err)
	require.Equal(t, versions, after)

	// Other versions are nothing to compare.
	next, _, _ = newKeyring(t)
	require.NoError(t, k.Replace(next))
	_, err = openOne(t, k, scope, "tok", sealed)
	require.ErrorIs(t, err, keyring.ErrUnknownKey)
	require.NoError(t, k.Replace(k))
}

func TestReplaceNeedsKeyrings(t *testing.T) {
	var none *tink.Keyring
	require.Error(t, none.Replace(nil))
	require.Error(t, new(tink.Keyring).Replace(new(tink.Keyring)))
}

func TestReplaceWhileInUse(t *testing.T) {
	k, fingerprints, seals := newKeyring(t)
	f, s := ids(fingerprints), ids(seals)
	var rings []*tink.Keyring
	for i := range 2 {
		next, err := tink.New(
			change(t, fingerprints, func(m *keyset.Manager) error { return m.SetPrimary(uint32(f[i])) }),
			change(t, seals, func(m *keyset.Manager) error { return m.SetPrimary(uint32(s[i])) }))
		require.NoError(t, err)
		rings = append(rings, next)
	}
	want := fingerprint(t, k, f[0], scope, "ada")
	var users sync.WaitGroup
	for range 4 {
		users.Go(func() {
			for range 50 {
				var got [1]keyring.Fingerprint
				if err := k.Fingerprint(t.Context(), f[0], values(scope, "ada"), got[:]); err != nil || got[0] != want {
					t.Errorf("another fingerprint, or %v", err)
				}
				sealed, err := sealOne(t, k, scope, "tok", "ada")
				if err != nil {
					t.Error(err)
				}
				if plain, err := openOne(t, k, scope, "tok", sealed); err != nil || plain != "ada" {
					t.Errorf("another value, or %v", err)
				}
			}
		})
	}
	for i := range 50 {
		require.NoError(t, k.Replace(rings[i%2]))
	}
	users.Wait()
}

func TestPrintsAsRedacted(t *testing.T) {
	k, fingerprints, seals := newKeyring(t)
	type holder struct {
		Exported   *tink.Keyring
		unexported *tink.Keyring
	}
	h := holder{k, k}
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%o"} {
		require.Equal(t, "[redacted]", fmt.Sprintf(verb, k), verb)
		fmt.Fprintf(&out, verb+" "+verb+"\n", h, &h)
	}
	text, err := json.Marshal(k)
	require.NoError(t, err)
	require.Equal(t, `"[redacted]"`, string(text))
	text, err = json.Marshal(h)
	require.NoError(t, err)
	out.Write(text)
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(handler).Info("keys", "keyring", k, "holder", h)
	}
	requireNoKeys(t, out.String(), fingerprints, seals)
}

// requireNoKeys fails if a text holds a key of a keyset, in any of the usual ways to
// write bytes.
func requireNoKeys(t *testing.T, text string, keysets ...*keyset.Handle) {
	t.Helper()
	for _, h := range keysets {
		for _, key := range proto(t, h).GetKey() {
			secret := key.GetKeyData().GetValue()
			secret = secret[len(secret)-15:] // the key comes last in its message, and 15 bytes are whole digits of base64
			for _, format := range []string{"%s", "%x", "%X", "%d", "%q"} {
				require.NotContains(t, text, strings.Trim(fmt.Sprintf(format, secret), `"[]`))
			}
			for shift := range 3 {
				require.NotContains(t, text, base64.RawStdEncoding.EncodeToString(secret[shift:shift+12]))
				require.NotContains(t, text, base64.RawURLEncoding.EncodeToString(secret[shift:shift+12]))
			}
		}
	}
}
