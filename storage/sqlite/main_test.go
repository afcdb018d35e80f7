package sqlite_test

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"
)

// TestMain lets twice as many tests run side by side as there are processors: they wait
// for the disk, and for locks. Who gives -parallel decides.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))) // there is such a flag, and it is a number
	}
	m.Run()
}

// sequences is how many random sequences a model plays: few on somebody's machine, the
// suite's own number, which 0 stands for, in CI and with MORTISE_SOAK=1.
func sequences() int {
	if os.Getenv("CI") == "true" || os.Getenv("MORTISE_SOAK") == "1" {
		return 0
	}
	return 6
}
