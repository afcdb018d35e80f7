// Package conformance runs the conformance suites of the domains (triggertest.Run,
// authmgmttest.Run), and proves that they find what they are for: a mutant is a backend
// with a mistake, and every rule must be broken by one. It also runs the random sequences
// of their property tests (RunModel), and waits for what rules wait for. A mutant whose
// mistake shows only in a race calls Seam between its two steps, and so always loses the
// race. Package queuetest holds the rules that the job queues of all domains have.
package conformance

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// Suite is a domain's suite.
type Suite struct {
	Name  string // of its package, for messages
	Rules []Rule

	limit time.Duration // of a rule; 0: deadline()
}

// Rule is one sentence of a contract, with what tries it on a fresh backend, or returns why it cannot.
type Rule struct {
	ID, Text string
	Try      func(t *testing.T) (skipped string)
}

// sentence is what a broken rule prints.
func (r *Rule) sentence() string { return fmt.Sprintf("rule %s: %s", r.ID, r.Text) }

// Run tries every rule as a subtest named by its id. A rule that is broken prints its text,
// above what its check has to say. (With -v, every rule does.) A rule that does not end
// ends the process, and prints its text and those of the rules that failed before.
//
// skip holds the ids of rules that are not tried, each with a reason; an unknown id or an
// empty reason fails the test. At the end, Run logs which rules were skipped and why.
func (s *Suite) Run(t *testing.T, skip map[string]string) {
	t.Helper()
	for _, complaint := range s.checkSkip(skip) {
		t.Error(complaint)
	}
	skipped := make(map[string][]string)
	watch := watchman{limit: cmp.Or(s.limit, deadline())}
	for _, r := range s.Rules {
		t.Run(r.ID, func(t *testing.T) {
			forgetRest()
			watch.over(t, r.sentence())
			t.Log(r.sentence()) // before everything else; go test drops it if nothing fails
			reason := skip[r.ID]
			if strings.TrimSpace(reason) == "" {
				reason = r.Try(t)
			}
			if reason != "" {
				skipped[reason] = append(skipped[reason], r.ID)
				t.Skip(reason)
			}
		})
	}
	t.Log(s.summary(skipped))
}

func (s *Suite) checkSkip(skip map[string]string) []string {
	known := make(map[string]bool)
	for _, r := range s.Rules {
		known[r.ID] = true
	}
	var complaints []string
	for _, id := range slices.Sorted(maps.Keys(skip)) {
		if !known[id] {
			complaints = append(complaints, fmt.Sprintf("%s: Skip names %q, which is no rule", s.Name, id))
		}
		if strings.TrimSpace(skip[id]) == "" {
			complaints = append(complaints, fmt.Sprintf("%s: Skip gives no reason for %q", s.Name, id))
		}
	}
	return complaints
}

// summary says how many rules were skipped, and which ones for which reason.
func (s *Suite) summary(skipped map[string][]string) string {
	total := 0
	var lines strings.Builder
	for _, reason := range slices.Sorted(maps.Keys(skipped)) {
		ids := skipped[reason]
		total += len(ids)
		fmt.Fprintf(&lines, "\n%d because %s: %s", len(ids), reason, strings.Join(ids, ", "))
	}
	return fmt.Sprintf("%s: %d of %d rules skipped%s", s.Name, total, len(s.Rules), lines.String())
}
