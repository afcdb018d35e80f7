package localkeys

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/keytext"
	"github.com/seed-6363c74e/mortise/internal/printed"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

var rootBytes = []byte("not random, and nobody's key !?>") // with + and / in base64

func TestParseRoot(t *testing.T) {
	want, err := NewRoot(rootBytes)
	require.NoError(t, err)
	for _, text := range []string{
		hex.EncodeToString(rootBytes), strings.ToUpper(hex.EncodeToString(rootBytes)), "\n\t " + hex.EncodeToString(rootBytes) + "\r\n",
		base64.StdEncoding.EncodeToString(rootBytes), base64.RawStdEncoding.EncodeToString(rootBytes),
		base64.URLEncoding.EncodeToString(rootBytes), base64.RawURLEncoding.EncodeToString(rootBytes),
	} {
		root, err := ParseRoot(text)
		require.NoError(t, err, text)
		require.Equal(t, *want.bytes(), *root.bytes())
		t.Setenv("MORTISE_TEST_ROOT", text)
		root, err = RootFromEnv("MORTISE_TEST_ROOT")
		require.NoError(t, err)
		require.Equal(t, *want.bytes(), *root.bytes())
		file := filepath.Join(t.TempDir(), "key")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		root, err = RootFromFile(file)
		require.NoError(t, err)
		require.Equal(t, *want.bytes(), *root.bytes())
	}
}

func TestRootsThatAreNone(t *testing.T) {
	good, base := hex.EncodeToString(rootBytes), base64.StdEncoding.EncodeToString(rootBytes)
	for name, text := range map[string]string{
		"empty": "", "short": good[:62], "odd": good[:63], "long": good + "00", "zeros": strings.Repeat("0", 64),
		"no hex": strings.Repeat("g", 64), "within": good[:32] + "\n" + good[32:], "raw": string(rootBytes),
		"two": good + "\n" + good, "0x": "0x" + good, "zeros, not as many": strings.Repeat("0", 62), "zeros in base64": strings.Repeat("A", 43) + "=",
		"long base64": base64.StdEncoding.EncodeToString(append(rootBytes[:32:32], 1)), "both alphabets": "+-" + base[2:],
		"padding in the way": "=" + base, "within base64": base[:20] + "\r" + base[20:],
		"base64 with bits left": base64.RawStdEncoding.EncodeToString(rootBytes)[:42] + "/", "short base64": base64.StdEncoding.EncodeToString(rootBytes[:16]),
	} {
		_, err := ParseRoot(text)
		require.Error(t, err, name)
		t.Setenv("MORTISE_TEST_ROOT", text)
		_, inEnv := RootFromEnv("MORTISE_TEST_ROOT")
		require.ErrorContains(t, inEnv, "MORTISE_TEST_ROOT", name)
		if len(text) > 8 {
			require.NotContains(t, err.Error()+inEnv.Error(), text[:8], name)
		}
	}
	for _, n := range []int{0, 1, 16, 31, 33, 64} {
		_, err := NewRoot(bytes.Repeat([]byte{1}, n))
		require.ErrorIs(t, err, keytext.ErrSize)
	}
	_, err := NewRoot(make([]byte, 32))
	require.ErrorIs(t, err, keytext.ErrZero)
	_, err = RootFromEnv("MORTISE_TEST_NO_SUCH_VARIABLE")
	require.EqualError(t, err, "localkeys: the root key of MORTISE_TEST_NO_SUCH_VARIABLE is not in the environment: set it to the key, 32 random bytes as openssl rand -hex 32 prints them")
	_, err = RootFromFile(filepath.Join(t.TempDir(), "nope"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = RootFromFile(t.TempDir())
	require.Error(t, err)
	long := filepath.Join(t.TempDir(), "long")
	require.NoError(t, os.WriteFile(long, bytes.Repeat([]byte(" "), 5000), 0o600))
	_, err = RootFromFile(long)
	require.ErrorIs(t, err, keytext.ErrText)
}

func TestRootIsACopy(t *testing.T) {
	b := bytes.Clone(rootBytes)
	root, err := NewRoot(b)
	require.NoError(t, err)
	clear(b)
	require.Equal(t, rootBytes, root.bytes()[:])
}

func TestNewRefuses(t *testing.T) {
	one, err := NewRoot(rootBytes)
	require.NoError(t, err)
	two, err := NewRoot(bytes.Repeat([]byte{2}, 32))
	require.NoError(t, err)
	for name, keys := range map[string][]Key{
		"no root":         {{Version: 1}},
		"version 0":       {{Root: one}},
		"version below 0": {{Version: -1, Root: one}},
		"same version":    {{1, one}, {1, two}},
		"same root":       {{1, one}, {2, two}, {3, one}},
		"no second root":  {{1, one}, {Version: 2}},
	} {
		_, err := New(keys[0], keys[1:]...)
		require.Error(t, err, name)
	}
	k, err := New(Key{2, two}, Key{1, one})
	require.NoError(t, err)
	v, err := k.Versions(t.Context())
	require.NoError(t, err)
	require.Equal(t, keyring.Versions{Fingerprint: 2, Lookup: []int{1}, Seal: 2}, v)
}

// Keys print as [redacted], wherever they stand and however they are printed.
func TestKeysPrintAsRedacted(t *testing.T) {
	root, err := NewRoot(rootBytes)
	require.NoError(t, err)
	k, err := New(Key{1, root})
	require.NoError(t, err)
	_, err = sealOne(t, k, keyring.Scope{}, "t", "") // a derived key is there, too
	require.NoError(t, err)
	type inside struct {
		root Root
		ring *Keyring
		key  Key
	}
	for name, v := range map[string]any{
		"root": root, "pointer": &root, "key": Key{1, root}, "keyring": k, "list": []Key{{1, root}}, "field": inside{root, k, Key{1, root}},
		"exported": struct{ Any any }{k},
	} {
		out, err := printed.Ways(v)
		require.NoError(t, err)
		require.Empty(t, printed.Found(out, string(rootBytes[:12])), name)
	}
}

func FuzzParseRoot(f *testing.F) {
	f.Add(hex.EncodeToString(rootBytes))
	f.Add(base64.StdEncoding.EncodeToString(rootBytes))
	f.Add(strings.Repeat("A", 43))
	f.Fuzz(func(t *testing.T, text string) {
		root, err := ParseRoot(text)
		if err != nil {
			return
		}
		again, err := ParseRoot(hex.EncodeToString(root.bytes()[:]))
		require.NoError(t, err)
		require.Equal(t, *root.bytes(), *again.bytes())
	})
}

// The memory of derived keys is bounded, and forgetting them changes nothing.
func TestDerivedKeysAreBounded(t *testing.T) {
	root, err := NewRoot(rootBytes)
	require.NoError(t, err)
	k, err := New(Key{1, root})
	require.NoError(t, err)
	scope := keyring.Scope{Organization: "acme", Vault: "v1", Name: "a"}
	var before, after [1]keyring.Fingerprint
	x := func(s keyring.Scope) []keyring.FingerprintItem {
		return []keyring.FingerprintItem{{Scope: s, Value: keyring.NewValue("x")}}
	}
	require.NoError(t, k.Fingerprint(t.Context(), 1, x(scope), before[:]))
	sealed, err := sealOne(t, k, scope, "t", "x")
	require.NoError(t, err)
	for i := range maxDerived + 10 {
		other := keyring.Scope{Organization: "acme", Vault: fmt.Sprint(i), Name: "a"}
		require.NoError(t, k.Fingerprint(t.Context(), 1, x(other), after[:]))
		require.NotEqual(t, before, after)
		_, err := sealOne(t, k, other, "t", "")
		require.NoError(t, err)
	}
	require.LessOrEqual(t, len(k.derived.macs), maxDerived)
	require.LessOrEqual(t, len(k.derived.aeads), maxDerived)
	require.NoError(t, k.Fingerprint(t.Context(), 1, x(scope), after[:]))
	require.Equal(t, before, after)
	text, err := openOne(t, k, scope, "t", sealed)
	require.NoError(t, err)
	require.Equal(t, "x", text)
	require.Error(t, k.Fingerprint(t.Context(), 1, append(x(scope), x(scope)...), after[:]))
}

// sealOne seals one value.
func sealOne(t *testing.T, k *Keyring, s keyring.Scope, token, value string) (keyring.Sealed, error) {
	t.Helper()
	results, err := k.Seal(t.Context(), []keyring.SealItem{{Scope: s, Token: token, Value: keyring.NewValue(value)}})
	require.NoError(t, err)
	return results[0].Sealed, results[0].Err
}

// openOne opens one value.
func openOne(t *testing.T, k *Keyring, s keyring.Scope, token string, sealed keyring.Sealed) (string, error) {
	t.Helper()
	results, err := k.Open(t.Context(), []keyring.OpenItem{{Scope: s, Token: token, Sealed: sealed}})
	require.NoError(t, err)
	return results[0].Value.Reveal(), results[0].Err
}

// The vectors are by openssl kdf -keylen 32 -kdfopt digest:SHA256 -kdfopt hexkey:... -kdfopt
// info:... HKDF. With another result, whatever hosts have sealed or signed would be lost.
func TestDerive(t *testing.T) {
	key := make([]byte, RootSize)
	for i := range key {
		key[i] = byte(0xf8 + 3*i)
	}
	root, err := NewRoot(key)
	require.NoError(t, err)
	for purpose, want := range map[string]string{
		"mortise invitation key v1": "94dda651e59c9e5a1138fe03e09b870d978486d11f72c5067752609cb636bf97",
		"mortise vault key v1":      "51ca2ba0c94afeec9875c5bfb6bce3d2af3d8c5dbf8b2c14395469b4c4e9e14a",
	} {
		derived, err := root.Derive(purpose)
		require.NoError(t, err)
		require.Equal(t, want, hex.EncodeToString(derived[:]), purpose)
	}
	for _, purpose := range []string{"", "\x00", "\x00\x00\x00\x00\x00\x00\x00\x17mortise vault seal v1"} {
		_, err := root.Derive(purpose)
		require.Error(t, err, "%q", purpose)
	}
	_, err = Root{}.Derive("x")
	require.Error(t, err)
}
