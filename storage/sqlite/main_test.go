package sqlite_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/seed-6363c74e/mortise/internal/effort"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
)

func TestMain(m *testing.M) {
	var plans error
	defer func() {
		if plans != nil {
			fmt.Println(plans)
			os.Exit(1)
		}
	}()
	effort.Waiting(effort.Of(4, 2, 2)) // for the disk, and for locks
	defer effort.TempInMemory()()
	m.Run()
	plans = sqlite.CheckPlans()
}

// sequences is how many random sequences a model plays: few on somebody's machine, the
// suite's own number, which 0 stands for, in CI and with MORTISE_SOAK=1. A sequence makes one
// call at a time, so with the race detector few do. The gate plays all of them without.
func sequences() int {
	if sqlite.RaceDetector {
		return effort.Of(2, 2, 0)
	}
	return effort.Of(2, 0, 0)
}
