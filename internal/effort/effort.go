// Package effort says how much of something a test does. A newcomer's go test work is to
// end within minutes, so it proves a promise with few rounds, and where one thing is tried
// in several ways, it takes some of them. CI and the soak take them all. What [InCI] skips,
// another test tries, or comes near to. It is for tests alone.
package effort

import (
	"flag"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Of returns one of three numbers, by how much time there is: quick on somebody's machine,
// thorough in CI, where CI=true, and long with MORTISE_SOAK=1.
func Of(quick, thorough, long int) int {
	switch {
	case os.Getenv("MORTISE_SOAK") == "1":
		return long
	case os.Getenv("CI") == "true":
		return thorough
	}
	return quick
}

// Some returns all cases in CI and with MORTISE_SOAK=1. On somebody's machine it returns
// the first one and then one of every so many: with 3 the first, the fourth, the seventh.
func Some[T any](every int, cases []T) []T {
	step := Of(every, 1, 1)
	if step == 1 {
		return cases
	}
	var some []T
	for i := 0; i < len(cases); i += step {
		some = append(some, cases[i])
	}
	return some
}

// Names returns the names of the cases of a table, in order, as Some does.
func Names[T any](every int, cases map[string]T) []string {
	return Some(every, slices.Sorted(maps.Keys(cases)))
}

// InCI skips a test that would try the same thing in another way, for long, unless this is
// CI or a soak. instead names the test that tries that thing on somebody's machine, or what
// is nearest to it: "TestServer/data_folder, and TestOpenPaths of storage/sqlite".
func InCI(t testing.TB, instead string) {
	t.Helper()
	if Of(0, 1, 1) == 0 {
		t.Skip("only with CI=true; elsewhere there is " + instead)
	}
}

// Leave returns what a suite leaves out on somebody's machine, by id and with a reason: all
// rules but the first one and then one of every so many. In CI and with MORTISE_SOAK=1 it
// leaves out none. instead names the test that tries them everywhere, on another backend.
func Leave[R ~struct{ ID, Text string }](every int, rules []R, instead string) map[string]string {
	var ids []string
	for i, r := range rules {
		if i%every != 0 {
			ids = append(ids, struct{ ID, Text string }(r).ID)
		}
	}
	return LeaveOut(instead, ids...)
}

// LeaveOut is Leave for a few rules by their ids: for those that take long on one backend.
func LeaveOut(instead string, ids ...string) map[string]string {
	leave := make(map[string]string)
	if Of(0, 1, 1) == 0 {
		for _, id := range ids {
			leave[id] = "only with CI=true; elsewhere there is " + instead
		}
	}
	return leave
}

// LeaveToMemory is Leave for a backend beside storage/memory, whose test of the same suite
// instead names. It leaves out no rule that memory cannot be tried by: of what outlives a
// process or a failure, and of a host's transaction.
func LeaveToMemory[R ~struct{ ID, Text string }](every int, rules []R, instead string) map[string]string {
	return Leave(every, slices.DeleteFunc(slices.Clone(rules), func(r R) bool {
		id := struct{ ID, Text string }(r).ID
		return strings.Contains(id, "durable") || strings.Contains(id, "failure") || strings.HasPrefix(id, "hosttx/")
	}), instead+" of storage/memory")
}

// Waiting lets so many tests for each processor run side by side, for a package whose
// tests mostly wait: for the disk, for time, for processes to end. Who gives -parallel
// decides. It is for TestMain.
func Waiting(each int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", strconv.Itoa(each*runtime.GOMAXPROCS(0))) // there is such a flag, and it is a number
	}
}
