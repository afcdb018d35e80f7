package wav

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEncode(t *testing.T) {
	samples := []float32{0, 0.5, -1, 1, 2, -2, float32(math.NaN()), float32(math.Inf(1)), 1.0 / 65536 * 1.01, 0.25}
	for len(samples) < 2*blockSamples+7 {
		samples = append(samples, float32(len(samples)%32768)/32768)
	}
	var file bytes.Buffer
	require.NoError(t, Encode(&file, 22050, samples))
	assert.Equal(t, simple(format(formatPCM, 1, 22050, 2, 16), file.Bytes()[44:]), file.Bytes(), "as the tests would write it")
	got, err := collect(t, t.Context(), save(t, file.Bytes()), 22050)
	require.NoError(t, err)
	top := float32(math.MaxInt16) / 32768
	copy(samples, []float32{0, 0.5, -1, top, top, -1, 0, top, 1.0 / 32768, 0.25})
	assert.Equal(t, samples, got)

	file.Reset()
	require.NoError(t, Encode(&file, 8000, nil))
	assert.Len(t, file.Bytes(), 44)
	assert.Error(t, Encode(&file, 0, samples))
	assert.ErrorIs(t, Encode(full{}, 8000, samples), errFull)
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
