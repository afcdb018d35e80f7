package clips

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestQuantize(t *testing.T) {
	nan := float32(0)
	nan /= nan
	for score, want := range map[float32]uint16{0: 0, 1: Unit, 2: Unit, -1: 0, 0.5: 32768, 1.0 / Unit: 1} {
		assert.Equal(t, want, Quantize(score), score)
	}
	assert.Zero(t, Quantize(nan))
	for q := range Unit + 1 {
		score := float64(q) / Unit
		if Quantize(float32(score)) != uint16(q) || Ceil(score) != uint16(q) { // a score is not below itself
			require.Fail(t, "another score", "%d: %d, %d", q, Quantize(float32(score)), Ceil(score))
		}
	}
	assert.EqualValues(t, 2, Ceil(1.0001/Unit))
}
