package localkeys

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault/keyring"
)

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	require.NoError(t, err)
	return b
}

// The test cases of RFC 4231 for HMAC-SHA-256, through the code that makes fingerprints.
// Test case 5 is of a truncated sum, which this code does not make; its first 128 bits
// are compared.
func TestRFC4231(t *testing.T) {
	for _, c := range []struct{ key, data, sum string }{
		{strings.Repeat("0b", 20), "4869205468657265", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
		{"4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
		{strings.Repeat("aa", 20), strings.Repeat("dd", 50), "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
		{"0102030405060708090a0b0c0d0e0f10111213141516171819", strings.Repeat("cd", 50), "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
		{strings.Repeat("0c", 20), "546573742057697468205472756e636174696f6e", "a3b6167473100ee06e0c796c2955552b"},
		{strings.Repeat("aa", 131), "54657374205573696e67204c6172676572205468616e20426c6f636b2d53697a65204b6579202d2048617368204b6579204669727374",
			"60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
		{strings.Repeat("aa", 131), "5468697320697320612074657374207573696e672061206c6172676572207468616e20626c6f636b2d73697a65206b657920616e642061206c6172676572207468616e20626c6f636b2d73697a6520646174612e20546865206b6579206e6565647320746f20626520686173686564206265666f7265206265696e6720757365642062792074686520484d414320616c676f726974686d2e",
			"9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
	} {
		m := &mac{hash: hmac.New(sha256.New, unhex(t, c.key))}
		for range 2 { // an HMAC is used again and again
			var sum keyring.Fingerprint
			m.sum(string(unhex(t, c.data)), &sum)
			require.Equal(t, c.sum, hex.EncodeToString(sum[:len(c.sum)/2]))
		}
	}
}

// The test cases of RFC 5869 for SHA-256, through the function that keys are derived
// with.
func TestRFC5869(t *testing.T) {
	sequence := func(from, to byte) []byte {
		var b []byte
		for i := int(from); i <= int(to); i++ {
			b = append(b, byte(i))
		}
		return b
	}
	for _, c := range []struct {
		secret, salt, info []byte
		key                string
	}{
		{bytes.Repeat([]byte{0x0b}, 22), sequence(0x00, 0x0c), sequence(0xf0, 0xf9),
			"3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"},
		{sequence(0x00, 0x4f), sequence(0x60, 0xaf), sequence(0xb0, 0xff),
			"b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87"},
		{bytes.Repeat([]byte{0x0b}, 22), nil, nil,
			"8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"},
	} {
		key, err := hkdf.Key(sha256.New, c.secret, c.salt, string(c.info), len(c.key)/2)
		require.NoError(t, err)
		require.Equal(t, c.key, hex.EncodeToString(key))
	}
}

// What is stored must be found by every later version of this package, so fingerprints
// and seals must never change. This computes a fingerprint from the two RFCs alone, and
// opens a value that was sealed when this was written.
func TestFormatIsStable(t *testing.T) {
	root, err := NewRoot(bytes.Repeat([]byte{7}, RootSize))
	require.NoError(t, err)
	k, err := New(Key{Version: 3, Root: root})
	require.NoError(t, err)
	scope := keyring.Scope{Organization: "acme", Vault: "v1", Name: "persons.email"}

	var info []byte
	part := func(text string) {
		info = binary.BigEndian.AppendUint64(info, uint64(len(text)))
		info = append(info, text...)
	}
	part("mortise vault fingerprint v1")
	info = binary.BigEndian.AppendUint64(info, 3)
	part("acme")
	part("v1")
	part("persons.email")
	extract := hmac.New(sha256.New, make([]byte, 32)) // no salt is a salt of zeros
	extract.Write(bytes.Repeat([]byte{7}, 32))
	expand := hmac.New(sha256.New, extract.Sum(nil))
	expand.Write(info)
	expand.Write([]byte{1})
	sum := hmac.New(sha256.New, expand.Sum(nil))
	sum.Write([]byte("ada@example.com"))
	var got [1]keyring.Fingerprint
	items := []keyring.FingerprintItem{{Scope: scope, Value: keyring.NewValue("ada@example.com")}}
	require.NoError(t, k.Fingerprint(t.Context(), 3, items, got[:]))
	require.Equal(t, sum.Sum(nil), got[0][:])

	const sealed = "f3a482d0c2b78813e153dcf8cd1cbf670ddf69261ba4803b973d4c33ec90933f51594134f279aab5f26621"
	text, err := openOne(t, k, scope, "token-1", keyring.Sealed{Version: 3, Ciphertext: unhex(t, sealed)})
	require.NoError(t, err)
	require.Equal(t, "ada@example.com", text)
}
