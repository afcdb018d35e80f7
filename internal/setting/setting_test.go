package setting_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/setting"
)

func TestDefault(t *testing.T) {
	for _, c := range []struct{ given, left, none int }{{0, 7, 7}, {3, 3, 3}, {-1, -1, 0}} {
		v, w := c.given, time.Duration(c.given)
		setting.Default(&v, 7)
		setting.DefaultOrNone(&w, 7)
		require.Equal(t, c.left, v)
		require.Equal(t, time.Duration(c.none), w)
	}
}

func TestCheck(t *testing.T) {
	require.NoError(t, setting.Check("x: Options", setting.Of("A", 0), setting.Of("B", time.Second)))
	require.EqualError(t, setting.Check("x: Options", setting.Of("A", 0), setting.Of("B", -time.Second)),
		"x: Options.B is below 0; 0 means the default")
	require.EqualError(t, setting.Check("x: Options", setting.Of("A", -1), setting.Of("B", int64(-1))),
		"x: Options: these are below 0, and 0 means the default: A, B")
}
