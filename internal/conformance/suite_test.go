package conformance

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// envSuite names a suite in the processes that run one in order to fail.
const envSuite = "CONFORMANCE_SUITE"

// tried is a rule on nothing.
type tried struct {
	id, text string
	needs    Need
	check    func(t *testing.T, s struct{})
}

var (
	kept   = tried{"store/kept", "This holds.", 0, func(*testing.T, struct{}) {}}
	broken = tried{"store/broken", "One is two.", 0, func(t *testing.T, _ struct{}) {
		t.Cleanup(func() { t.Log("cleaned up") })
		require.Equal(t, 1, 2)
	}}
	next = tried{"store/next", "This is not reached.", 0, func(*testing.T, struct{}) {}}
)

// hangs is a rule that does not end.
func hangs(check func(t *testing.T)) tried {
	return tried{"store/hangs", "This ends.", 0, func(t *testing.T, _ struct{}) { check(t) }}
}

const (
	needThis Need = 1 << iota
	needThat
)

// suiteOf returns a suite whose subject lacks that.
func suiteOf(rules ...tried) *Suite[struct{}] {
	s := &Suite[struct{}]{
		Name: "somethingtest",
		Open: func(*testing.T) (s struct{}) { return s },
		Parts: func(_ struct{}, has Has) {
			has(needThis, true, "there is no this")
			has(needThat, false, "there is nothing to try")
		},
	}
	for _, r := range rules {
		s.Add(r.id, r.text, r.needs, r.check)
	}
	return s
}

// suites are what TestSuite runs in processes of its own.
func suites() map[string]*Suite[struct{}] {
	skipped := tried{"store/skipped", "This is not tried.", needThis | needThat, func(t *testing.T, _ struct{}) { t.Error("tried") }}
	all := map[string]*Suite[struct{}]{
		"a rule that hangs": suiteOf(kept, broken, hangs(func(*testing.T) { Together(2, func(int) { waitForever() }) }), next),
		"a rule that loops": suiteOf(hangs(func(*testing.T) {
			for n := 0; ; n++ {
			}
		})),
		"a cleanup that hangs":        suiteOf(hangs(func(t *testing.T) { t.Cleanup(waitForever) })),
		"a mutant that waits in vain": suiteOf(hangs(func(*testing.T) { Hold(nil) })),
	}
	for _, s := range all {
		s.limit = 100 * time.Millisecond
	}
	all["a wait in vain"] = suiteOf(hangs(func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			t.Cleanup(func() { t.Log("in all", time.Since(began)) })
			t.Cleanup(func() { Until(t, "a cleanup", func() bool { return false }) })
			t.Cleanup(func() { t.Log("at first", time.Since(began)) })
			Await(t, make(chan int), "a number")
		})
	}))
	all["a broken rule"] = suiteOf(kept, broken, skipped)
	all["the timeout of go test"] = suiteOf(hangs(func(*testing.T) { waitForever() }))
	all["a bad skip"] = suiteOf(kept, broken)
	all["a bad skip"].Skip = map[string]string{"store/no-such-rule": "because", "store/kept": " "}
	all["a skip"] = suiteOf(kept, broken)
	all["a skip"].Skip = map[string]string{"store/broken": "one is two today"}
	return all
}

func waitForever() { <-make(chan struct{}) }

// TestSuiteProcess runs the suite that the environment names.
func TestSuiteProcess(t *testing.T) {
	suite, ok := suites()[os.Getenv(envSuite)]
	if !ok {
		t.Skip("run by TestSuite")
	}
	suite.Run(t)
}

// runSuite runs a suite that must fail in another process and returns its output.
func runSuite(t *testing.T, name string, flags ...string) string {
	t.Helper()
	return runProcess(t, "TestSuiteProcess", name, flags...)
}

// runProcess runs a test that must fail in another process and returns its output.
func runProcess(t *testing.T, test, name string, flags ...string) string {
	t.Helper()
	t.Parallel()
	flags = append([]string{"-test.run=^" + test + "$"}, flags...) // the last one of a flag counts
	cmd := exec.CommandContext(t.Context(), os.Args[0], flags...)
	cmd.Env = append(os.Environ(), envSuite+"="+name)
	output, err := cmd.CombinedOutput()
	require.Error(t, err, "%s", output)
	return string(output)
}

// inOrder requires that text holds the parts, one after the other.
func inOrder(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		require.True(t, found, "%q is not where it should be in\n%s", part, text)
		rest = after
	}
}

// TestSuite: a broken rule says its sentence before everything else, and one that does not
// end says it, too, with those of the rules that failed before.
func TestSuite(t *testing.T) {
	t.Run("a broken rule", func(t *testing.T) {
		output := runSuite(t, "a broken rule")
		inOrder(t, output, "--- FAIL: TestSuiteProcess/store/broken ",
			"rule store/broken: One is two.", "Error Trace", "cleaned up", "2 of 3 rules ran, 1 skipped",
			"1 because there is nothing to try: store/skipped")
		require.NotContains(t, output, "This holds.")
		require.NotContains(t, output, "This is not tried.")
	})
	t.Run("a part", func(t *testing.T) {
		output := runSuite(t, "a broken rule", "-test.run=^TestSuiteProcess$/^store$/^(broken|skipped)$")
		inOrder(t, output, "--- FAIL: TestSuiteProcess/store/broken ",
			"somethingtest: 1 of 3 rules ran, 1 skipped", "store/skipped")
	})
	t.Run("a bad skip", func(t *testing.T) {
		inOrder(t, runSuite(t, "a bad skip", "-test.v"), `somethingtest: Skip gives no reason for "store/kept"`,
			`Skip names "store/no-such-rule", which is no rule`, "--- PASS: TestSuiteProcess/store/kept ")
	})
	t.Run("a rule that hangs", func(t *testing.T) {
		output := runSuite(t, "a rule that hangs")
		inOrder(t, output,
			"--- FAIL: TestSuiteProcess/store/broken ", "rule store/broken: One is two.",
			"--- FAIL: TestSuiteProcess/store/hangs ", "rule store/hangs: This ends.",
			"has not ended after 100ms", "conformance.waitForever", "\nFAIL\n")
		require.NotContains(t, output, "This holds.")
		require.NotContains(t, output, "store/next")
		require.NotContains(t, output, "panic: ")
		require.NotContains(t, output, seamMissed)
	})
	for _, name := range []string{"a rule that loops", "a cleanup that hangs"} {
		t.Run(name, func(t *testing.T) {
			output := runSuite(t, name)
			inOrder(t, output, "--- FAIL: TestSuiteProcess/store/", ": This ends.", "has not ended after")
			require.NotContains(t, output, "failed before")
		})
	}
	t.Run("a wait in vain", func(t *testing.T) {
		inOrder(t, runSuite(t, "a wait in vain"), "rule store/hangs: This ends.",
			"waited in vain for a number", "at first 10s", "waited in vain for a cleanup", "in all 10.5s")
	})
	t.Run("the timeout of go test", func(t *testing.T) {
		output := runSuite(t, "the timeout of go test", "-test.timeout=5s")
		inOrder(t, output, "--- FAIL: TestSuiteProcess/store/hangs ", "rule store/hangs: This ends.",
			"has not ended after")
		require.NotContains(t, output, "panic: ")
	})
	t.Run("a mutant that waits in vain", func(t *testing.T) {
		output := runSuite(t, "a mutant that waits in vain")
		inOrder(t, output, "rule store/hangs: This ends.", seamMissed)
	})
}

// TestSkip: a rule that is known to be broken is not tried, and counted with its reason.
func TestSkip(t *testing.T) {
	require.Equal(t, map[string][]string{"one is two today": {"store/broken"}}, suites()["a skip"].run(t).skipped)
}

// TestRulesOf: a suite shows its rules as a type of its own.
func TestRulesOf(t *testing.T) {
	type Sentence struct{ ID, Text string }
	require.Equal(t, []Sentence{{"store/kept", "This holds."}, {"store/broken", "One is two."}},
		RulesOf[Sentence](suiteOf(kept, broken)))
}

// TestBreak: what was broken is healed once, at the end of the test at the latest.
func TestBreak(t *testing.T) {
	for _, early := range []bool{true, false} {
		var healed []string
		t.Run("a rule", func(t *testing.T) {
			heal := Break(t, func(_ *testing.T, b string) func() {
				return func() { healed = append(healed, b) }
			}, "disk")
			if early {
				heal()
				heal()
				require.Len(t, healed, 1)
			}
		})
		require.Equal(t, []string{"disk"}, healed)
	}
}

// TestLacks: the first part that is missing gives the reason, and only one that is needed.
func TestLacks(t *testing.T) {
	parts := func(has Has) {
		has(1, true, "no one")
		has(2, false, "no two")
		has(4, false, "no four")
	}
	for needs, reason := range map[Need]string{0: "", 1: "", 1 | 2: "no two", 2 | 4: "no two", 1 | 4: "no four"} {
		require.Equal(t, reason, Lacks(parts, needs), "needs %b", needs)
	}
}
