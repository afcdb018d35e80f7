//go:build !race

package astfeatures_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/astfeatures"
)

// TestAllocs: a call allocates nothing once another was made. (Under the race detector a
// sync.Pool forgets on purpose.)
func TestAllocs(t *testing.T) {
	samples := signal(t, "speech")
	features := make([]float32, astfeatures.Frames*astfeatures.Bins)
	require.Zero(t, testing.AllocsPerRun(20, func() { astfeatures.Extract(features, samples) }))
}
