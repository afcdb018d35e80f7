package conformance

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// envSuite names a suite in the processes that run one in order to fail.
const envSuite = "CONFORMANCE_SUITE"

var (
	kept   = Rule{ID: "store/kept", Text: "This holds.", Try: func(*testing.T) string { return "" }}
	broken = Rule{ID: "store/broken", Text: "One is two.", Try: func(t *testing.T) string {
		t.Cleanup(func() { t.Log("cleaned up") })
		require.Equal(t, 1, 2)
		return ""
	}}
)

// suites are what TestSuite runs in processes of its own.
var suites = map[string]Suite{
	"a broken rule": {Rules: []Rule{
		kept,
		broken,
		{ID: "store/skipped", Text: "This is not tried.", Try: func(*testing.T) string {
			return "there is nothing to try"
		}},
	}},
	"a rule that hangs": {limit: 100 * time.Millisecond, Rules: []Rule{
		kept,
		broken,
		{ID: "store/hangs", Text: "This ends.", Try: func(*testing.T) string {
			Together(2, func(int) { waitForever() })
			return ""
		}},
		{ID: "store/next", Text: "This is not reached.", Try: func(*testing.T) string { return "" }},
	}},
	"a rule that loops": {limit: 100 * time.Millisecond, Rules: []Rule{
		{ID: "store/loops", Text: "This ends.", Try: func(*testing.T) string {
			for n := 0; ; n++ {
			}
		}},
	}},
	"a cleanup that hangs": {limit: 100 * time.Millisecond, Rules: []Rule{
		{ID: "store/hangs", Text: "This ends.", Try: func(t *testing.T) string {
			t.Cleanup(waitForever)
			return ""
		}},
	}},
	"the timeout of go test": {Rules: []Rule{
		{ID: "store/hangs", Text: "This ends.", Try: func(*testing.T) string {
			waitForever()
			return ""
		}},
	}},
	"a mutant that waits in vain": {limit: 100 * time.Millisecond, Rules: []Rule{
		{ID: "store/hangs", Text: "This ends.", Try: func(*testing.T) string { Hold(nil); return "" }},
	}},
}

func waitForever() { <-make(chan struct{}) }

// TestSuiteProcess runs the suite that the environment names.
func TestSuiteProcess(t *testing.T) {
	suite, ok := suites[os.Getenv(envSuite)]
	if !ok {
		t.Skip("run by TestSuite")
	}
	suite.Run(t, nil)
}

// runSuite runs a suite that must fail in another process and returns its output.
func runSuite(t *testing.T, name string, flags ...string) string {
	t.Helper()
	t.Parallel()
	flags = append(flags, "-test.run=^TestSuiteProcess$")
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
			"rule store/broken: One is two.", "Error Trace", "cleaned up", "1 of 3 rules skipped",
			"1 because there is nothing to try: store/skipped")
		require.NotContains(t, output, "This holds.")
		require.NotContains(t, output, "This is not tried.")
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
