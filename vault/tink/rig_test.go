package tink_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/core/registry"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/prf"
	tinkpb "github.com/tink-crypto/tink-go/v2/proto/tink_go_proto"
	tinkgo "github.com/tink-crypto/tink-go/v2/tink"

	"github.com/seed-6363c74e/mortise/vault/keyring"
	"github.com/seed-6363c74e/mortise/vault/tink"
)

// localKMS is a KMS in this process: a KMS client as Tink has them, with real keys by
// their URIs.
type localKMS struct {
	prefix string
	keys   map[string]tinkgo.AEAD
}

var _ registry.KMSClient = (*localKMS)(nil)

func newKMS() *localKMS { return &localKMS{prefix: "test-kms://", keys: make(map[string]tinkgo.AEAD)} }

func (k *localKMS) Supported(uri string) bool { return strings.HasPrefix(uri, k.prefix) }

// GetAEAD makes a key when it is first asked for one.
func (k *localKMS) GetAEAD(uri string) (tinkgo.AEAD, error) {
	if !k.Supported(uri) {
		return nil, errors.New("test-kms: no key of mine")
	}
	if key, ok := k.keys[uri]; ok {
		return key, nil
	}
	h, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, err
	}
	key, err := aead.New(h)
	if err != nil {
		return nil, err
	}
	k.keys[uri] = key
	return key, nil
}

// newKEK returns a new key-encryption key.
func newKEK(t testing.TB) tinkgo.AEAD {
	t.Helper()
	kek, err := newKMS().GetAEAD("test-kms://vault")
	require.NoError(t, err)
	return kek
}

// down is a key-encryption key whose KMS does not answer.
type down struct{}

var errDown = errors.New("test-kms: no answer")

func (down) Encrypt([]byte, []byte) ([]byte, error) { return nil, errDown }
func (down) Decrypt([]byte, []byte) ([]byte, error) { return nil, errDown }

// open is no key-encryption key at all: what it seals is as it was.
type open struct{}

func (open) Encrypt(plaintext, _ []byte) ([]byte, error)  { return bytes.Clone(plaintext), nil }
func (open) Decrypt(ciphertext, _ []byte) ([]byte, error) { return bytes.Clone(ciphertext), nil }

// newKeyset has a new key of each template. The first is the primary one.
func newKeyset(t testing.TB, templates ...*tinkpb.KeyTemplate) *keyset.Handle {
	t.Helper()
	m := keyset.NewManager()
	for i, template := range templates {
		id, err := m.Add(template)
		require.NoError(t, err)
		if i == 0 {
			require.NoError(t, m.SetPrimary(id))
		}
	}
	h, err := m.Handle()
	require.NoError(t, err)
	return h
}

// change returns another keyset.
func change(t testing.TB, h *keyset.Handle, changes ...func(*keyset.Manager) error) *keyset.Handle {
	t.Helper()
	m := keyset.NewManagerFromHandle(h)
	for _, change := range changes {
		require.NoError(t, change(m))
	}
	h, err := m.Handle()
	require.NoError(t, err)
	return h
}

// ids returns the IDs of a keyset's keys, in its order.
func ids(h *keyset.Handle) []int {
	var ids []int
	for _, key := range h.KeysetInfo().GetKeyInfo() {
		ids = append(ids, int(key.GetKeyId()))
	}
	return ids
}

// proto returns what a keyset is made of, keys included.
func proto(t testing.TB, h *keyset.Handle) *tinkpb.Keyset {
	t.Helper()
	var clear bytes.Buffer
	require.NoError(t, insecurecleartextkeyset.Write(h, keyset.NewBinaryWriter(&clear)))
	p, err := keyset.NewBinaryReader(&clear).Read()
	require.NoError(t, err)
	return p
}

// parsed returns the handle of a keyset.
func parsed(t testing.TB, p *tinkpb.Keyset) *keyset.Handle {
	t.Helper()
	var clear bytes.Buffer
	require.NoError(t, keyset.NewBinaryWriter(&clear).Write(p))
	h, err := insecurecleartextkeyset.Read(keyset.NewBinaryReader(&clear))
	require.NoError(t, err)
	return h
}

// newKeyring returns a keyring of two new keys each, and its keysets.
func newKeyring(t testing.TB) (k *tink.Keyring, fingerprints, seals *keyset.Handle) {
	t.Helper()
	fingerprints = newKeyset(t, prf.HMACSHA256PRFKeyTemplate(), prf.HKDFSHA256PRFKeyTemplate())
	seals = newKeyset(t, aead.XAES256GCM192BitNonceKeyTemplate(), aead.AES256GCMNoPrefixKeyTemplate())
	k, err := tink.New(fingerprints, seals)
	require.NoError(t, err)
	return k, fingerprints, seals
}

// fingerprint returns the fingerprint of one value.
func fingerprint(t testing.TB, k keyring.Keyring, version int, s keyring.Scope, value string) [sha256.Size]byte {
	t.Helper()
	var dst [1]keyring.Fingerprint
	require.NoError(t, k.Fingerprint(t.Context(), version, values(s, value), dst[:]))
	return dst[0]
}

var scope = keyring.Scope{Organization: "acme", Vault: "v1", Name: "emails"}

// values are items of a scope.
func values(s keyring.Scope, values ...string) []keyring.FingerprintItem {
	var items []keyring.FingerprintItem
	for _, value := range values {
		items = append(items, keyring.FingerprintItem{Scope: s, Value: keyring.NewValue(value)})
	}
	return items
}

// sealOne seals one value.
func sealOne(t testing.TB, k keyring.Keyring, s keyring.Scope, token, value string) (keyring.Sealed, error) {
	t.Helper()
	results, err := k.Seal(t.Context(), []keyring.SealItem{{Scope: s, Token: token, Value: keyring.NewValue(value)}})
	if err != nil {
		return keyring.Sealed{}, err
	}
	return results[0].Sealed, results[0].Err
}

// openOne opens one value.
func openOne(t testing.TB, k keyring.Keyring, s keyring.Scope, token string, sealed keyring.Sealed) (string, error) {
	t.Helper()
	results, err := k.Open(t.Context(), []keyring.OpenItem{{Scope: s, Token: token, Sealed: sealed}})
	if err != nil {
		return "", err
	}
	return results[0].Value.Reveal(), results[0].Err
}
