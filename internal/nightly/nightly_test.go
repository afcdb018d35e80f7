package nightly_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

func TestOnly(t *testing.T) {
	for value, runs := range map[string]bool{"": false, "0": false, "1": true} {
		t.Run("MORTISE_NIGHTLY="+value, func(t *testing.T) {
			t.Setenv("MORTISE_NIGHTLY", value)
			skipped := false
			t.Run("a long test", func(t *testing.T) {
				defer func() { skipped = t.Skipped() }()
				nightly.Only(t)
			})
			require.Equal(t, !runs, skipped)
		})
	}
}
