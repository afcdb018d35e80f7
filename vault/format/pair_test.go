package format_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault/format"
	"github.com/seed-6363c74e/mortise/vault/keyring"
)

// A token that shows its value is never one, whatever the format is.
func TestPair(t *testing.T) {
	for _, c := range []struct {
		value, token string
		shows, ok    bool
	}{
		{"Ada", "tok", false, true},
		{"Ada", "Ada", true, false},
		{"Ada", " aDA\t", true, false},
		{" Ada ", "ada", true, false},
		{"Ada", "Ada.", false, true},
		{"", "tok", false, true},
		{"Ada", "", false, false},
		{"Ada", strings.Repeat("x", 256), false, false},
		{"Ada", "a\x00b", false, false},
	} {
		p := format.Pair{Value: keyring.NewValue(c.value), Token: c.token}
		require.Equal(t, c.shows, p.ShowsValue(), "%q as %q", c.value, c.token)
		if c.ok {
			require.NoError(t, p.Check(), "%q as %q", c.value, c.token)
			continue
		}
		var mismatch *format.Error
		require.ErrorAs(t, p.Check(), &mismatch, "%q as %q", c.value, c.token)
		require.ErrorIs(t, p.Check(), format.ErrMismatch)
	}
}
