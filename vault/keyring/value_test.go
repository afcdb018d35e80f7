package keyring_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// What must not be seen prints as [redacted], however it is printed.
func TestSecretsPrintAsRedacted(t *testing.T) {
	const secret = "4111111111111111"
	fingerprint := keyring.Fingerprint([]byte("not a fingerprint, but 32 bytes."))
	type inside struct{ unexported keyring.Value }
	for name, v := range map[string]any{
		"value":            keyring.NewValue(secret),
		"pointer":          new(keyring.NewValue(secret)),
		"list":             keyring.Values([]string{secret}),
		"item":             keyring.SealItem{Token: "tok", Value: keyring.NewValue(secret)},
		"unexported field": inside{unexported: keyring.NewValue(secret)},
		"fingerprint":      fingerprint,
		"key":              keyring.Key{Check: fingerprint},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t"} {
				fmt.Fprintf(&out, verb+"\n", v)
			}
			text, err := json.Marshal(v)
			require.NoError(t, err)
			out.Write(text)
			slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "v", v)
			slog.New(slog.NewTextHandler(&out, nil)).Info("x", "v", v)
			for _, s := range []string{secret, fmt.Sprintf("%x", secret), "not a fingerprint", "110 111 116", "6e6f7420", "6E6F7420"} {
				require.NotContains(t, out.String(), s)
			}
		})
	}
}

func TestValue(t *testing.T) {
	require.Equal(t, "4111", keyring.NewValue("4111").Reveal())
	require.True(t, keyring.Value{}.IsZero())
	require.False(t, keyring.NewValue("").IsZero())
	require.Empty(t, keyring.Value{}.Reveal())
	values := keyring.Values([]string{"a", ""})
	require.Len(t, values, 2)
	require.Equal(t, "a", values[0].Reveal())
	require.False(t, values[1].IsZero())
}

func TestFingerprintEqual(t *testing.T) {
	a, b := keyring.Fingerprint{1}, keyring.Fingerprint{2}
	require.True(t, a.Equal(a))
	require.False(t, a.Equal(b))
}
