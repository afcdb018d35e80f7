package conformance

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// deadline is how long a rule may take: well over what a slow machine needs, over what a
// rule waits for by itself, and over a [Glimpse].
const deadline = 2 * time.Minute

// watchman knows which rules of a suite have failed, and ends the process when one does not
// end. A call that hangs or loops cannot be ended by itself, and the timeout of go test
// prints no message of a test that is not over: not even those of rules that failed before.
type watchman struct {
	limit time.Duration

	mu     sync.Mutex
	failed []string // in the form of go test
}

// over watches over a rule, from now on until its last cleanup.
func (w *watchman) over(t *testing.T, sentence string) {
	name, began, limit := t.Name(), time.Now(), w.limit
	if end, ok := t.Deadline(); ok { // of go test: be there before it
		left := time.Until(end)
		limit = min(limit, left-left/10)
	}
	failure := func() string {
		return fmt.Sprintf("--- FAIL: %s (%.2fs)\n    %s\n", name, time.Since(began).Seconds(), sentence)
	}
	timer := time.AfterFunc(limit, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		fmt.Print("\n", strings.Join(w.failed, ""), failure())
		fmt.Printf("    The rule has not ended after %v. This ends the tests.\n", limit)
		if len(w.failed) > 0 {
			fmt.Println("    The rules above failed before; without this one, or with -v, they say why.")
		}
		if holding.Load() > 0 {
			fmt.Println("   ", seamMissed)
		}
		fmt.Printf("\n%s\nFAIL\n", whereabouts())
		os.Exit(1)
	})
	t.Cleanup(func() { // the first cleanup is called last
		timer.Stop()
		w.mu.Lock()
		defer w.mu.Unlock()
		if t.Failed() {
			w.failed = append(w.failed, failure())
		}
	})
}

// whereabouts returns the stacks of some goroutines that a rule runs on.
func whereabouts() string {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	var found []string
	for _, stack := range strings.Split(string(stacks), "\n\n") {
		ours := strings.Contains(stack, "internal/conformance.")
		watching := strings.Contains(stack, "conformance.whereabouts(") ||
			strings.Contains(stack, "testing.(*T).Run(")
		if ours && !watching && len(found) < 4 {
			found = append(found, stack+"\n")
		}
	}
	return strings.Join(found, "\n")
}
