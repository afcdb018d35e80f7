package sqlite_test

import (
	"testing"

	"github.com/seed-6363c74e/mortise/internal/testmain"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
)

func TestMain(m *testing.M) {
	testmain.Parallel(2) // for the disk, and for locks
	defer testmain.TempInMemory()()
	m.Run()
}

// sequences is how many random sequences a model plays: few on somebody's machine, the
// suite's own number, which 0 stands for, in CI and with MORTISE_SOAK=1. A sequence makes one
// call at a time, so with the race detector few do. The gate plays all of them without.
func sequences() int {
	if sqlite.RaceDetector {
		return 2
	}
	return 0
}
