package signal_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/audiosearch/signal"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/effort"
)

// TestScorerRules: the contract of a scorer, by the suite. Its samples that are no numbers
// take as long as all others together.
func TestScorerRules(t *testing.T) {
	audiosearchtest.RunScorer(t, func(t *testing.T) sound.Scorer {
		if strings.HasSuffix(t.Name(), "scorer/no-number") {
			effort.InCI(t, "TestBrokenSamples")
		}
		s, err := signal.New(nil)
		require.NoError(t, err)
		return s
	})
}
