package astfeatures

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLog goes over all parts of the table, at their edges too, and all powers.
func TestLog(t *testing.T) {
	tables := sharedTables()
	for x := floor; x < math.MaxFloat64/2; x *= 1.00390625 * 1.1 {
		require.InDelta(t, math.Log(x), tables.log(x), 1e-12*max(1, math.Log(x)))
	}
	for i := range 4 << logBits {
		x := 1 + float64(i)/(4<<logBits)
		for _, x := range []float64{x, math.Nextafter(x, 0), x * floor, x * 0x1p200} {
			if x >= floor {
				require.InDelta(t, math.Log(x), tables.log(x), 1e-12, "%v", x)
			}
		}
	}
	require.InDelta(t, math.Log(math.MaxFloat64), tables.log(math.MaxFloat64), 1e-9)
}
