package vault_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/vault"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// What must not be seen prints as [redacted], wherever it stands and however it is
// printed.
func TestItemsPrintAsRedacted(t *testing.T) {
	const secret = "4111111111111111"
	fingerprint := keyring.Fingerprint([]byte("not a fingerprint, but 32 bytes."))
	type inside struct {
		Exported   any
		unexported vault.Value
	}
	for name, v := range map[string]any{
		"value":            vault.NewValue(secret),
		"item":             vault.Item{Place: vault.InColumn("t", "c"), Value: vault.NewValue(secret)},
		"revealed":         vault.Revealed{Token: "tok", Value: vault.NewValue(secret)},
		"unexported field": inside{unexported: vault.NewValue(secret)},
		"exported field":   inside{Exported: vault.NewValue(secret)},
		"lookup":           vault.Lookup{Fingerprints: []keyring.Fingerprint{fingerprint}},
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
			for _, s := range []string{secret, fmt.Sprintf("%x", secret), fmt.Sprintf("%X", secret), "not a fingerprint", "110 111 116", "6e6f7420", "6E6F7420"} {
				require.NotContains(t, out.String(), s)
			}
		})
	}
}

func TestBatchError(t *testing.T) {
	err := error(&vault.BatchError{Items: []*vault.ItemError{{Index: 3, Err: vault.ErrValueNotFound}, {Index: 7, Err: vault.ErrValueNotFound}}})
	require.ErrorIs(t, err, vault.ErrValueNotFound)
	var item *vault.ItemError
	require.True(t, errors.As(err, &item))
	require.Equal(t, 3, item.Index)
	require.EqualError(t, err, "item 3: vault: the value has no token; item 7: vault: the value has no token")
	var many vault.BatchError
	for i := range 1000 {
		many.Items = append(many.Items, &vault.ItemError{Index: i, Err: vault.ErrValueNotFound})
	}
	require.Less(t, len(many.Error()), 300)
	require.Contains(t, many.Error(), "and 995 more")

	require.EqualError(t, &mortise.ValidationError{}, "mortise: invalid request")
	require.Nil(t, (&mortise.ValidationError{}).Unwrap())
}
