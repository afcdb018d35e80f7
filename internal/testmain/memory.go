package testmain

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Memory makes a folder whose files are in memory, for tests that write much and whose
// subject is not the disk. Where there is no such room it makes one among the usual
// temporary folders. The caller calls remove when it is done. A folder that a process left
// behind, because it was killed, goes with the next call.
func Memory() (dir string, remove func(), err error) {
	base := inMemory()
	if base == "" {
		base = os.TempDir()
	}
	left, _ := filepath.Glob(filepath.Join(base, memoryPrefix+"*-*"))
	for _, folder := range left {
		number, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(folder), memoryPrefix), "-")
		if pid, err := strconv.Atoi(number); err == nil && gone(pid) {
			_ = os.RemoveAll(folder)
		}
	}
	if dir, err = os.MkdirTemp(base, fmt.Sprint(memoryPrefix, os.Getpid(), "-*")); err != nil {
		return "", nil, err
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil
}

// memoryPrefix is followed by the number of the process.
const memoryPrefix = "mortise"

// TempInMemory makes t.TempDir, and os.TempDir, a folder of [Memory] until done is called.
// It is for TestMain. Benchmarks, whose subject is the disk, are left where they are.
func TempInMemory() (done func()) {
	if !flag.Parsed() {
		flag.Parse()
	}
	if bench := flag.Lookup("test.bench"); bench != nil && bench.Value.String() != "" {
		return func() {}
	}
	dir, remove, err := Memory()
	if err != nil {
		return func() {}
	}
	before, was := os.LookupEnv("TMPDIR")
	_ = os.Setenv("TMPDIR", dir)
	return func() {
		remove()
		if was {
			_ = os.Setenv("TMPDIR", before)
		} else {
			_ = os.Unsetenv("TMPDIR")
		}
	}
}
