// Package testmain is for functions TestMain: how many tests run side by side, and where
// they put their files. It is for tests alone.
package testmain

import (
	"flag"
	"runtime"
	"strconv"
)

// Parallel lets so many tests for each processor run side by side, for a package whose
// tests mostly wait: for the disk, for time, for processes to end. A -parallel on the
// command line takes precedence.
func Parallel(each int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", strconv.Itoa(each*runtime.GOMAXPROCS(0))) // there is such a flag, and it is a number
	}
}
