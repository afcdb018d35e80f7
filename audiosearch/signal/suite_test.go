package signal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/audiosearch/signal"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// TestScorerRules: the contract of a scorer, by the suite.
func TestScorerRules(t *testing.T) {
	audiosearchtest.RunScorer(t, func(t *testing.T) sound.Scorer {
		s, err := signal.New(nil)
		require.NoError(t, err)
		return s
	})
}
