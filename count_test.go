package mortise_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
)

func TestCount(t *testing.T) {
	for want, c := range map[string]mortise.Count{
		"0": {}, "42": {N: 42}, "10000": mortise.CountUpTo(10_000, mortise.MaxCount),
		"10000+": mortise.CountUpTo(10_001, mortise.MaxCount), "0+": {More: true},
	} {
		require.Equal(t, want, c.String())
	}
}

// A number that is too large to be counted is shown as "at least".
func ExampleCount() {
	fmt.Println(mortise.CountUpTo(42, mortise.MaxCount))
	fmt.Println(mortise.CountUpTo(25_000, mortise.MaxCount))
	// Output:
	// 42
	// 10000+
}
