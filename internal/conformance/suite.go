package conformance

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Suite is the rules of a contract, and how to come by what they are tried on: a subject,
// which is a backend as the suite's rules see it. [Suite.Add] adds a rule.
type Suite[S any] struct {
	Name string // of its package, for messages

	// Skip holds the ids of rules that are not tried, each with a reason. An unknown id or
	// an empty reason fails the test.
	Skip map[string]string

	// Open returns a fresh subject. It cleans up with t.Cleanup.
	Open func(t *testing.T) S

	// Parts tells has of each part that a subject may lack. It may be nil if rules need
	// nothing.
	Parts func(s S, has Has)

	rules []rule[S]
	limit time.Duration // of a rule; 0: deadline
}

// Need is what a rule cannot do without: a set of parts, each a bit that the suite declares.
type Need uint

// Has takes a part of a subject, whether it is there, and why rules that need it are
// skipped if it is not. The first part that a rule misses gives the reason.
type Has func(part Need, there bool, without string)

// Is reports whether a part of a backend implements an optional interface.
func Is[T any](part any) bool {
	_, ok := part.(T)
	return ok
}

// Break makes a backend fail as a harness does, until heal is called, or until the test
// ends.
func Break[B any](t *testing.T, how func(t *testing.T, b B) (heal func()), b B) (heal func()) {
	t.Helper()
	heal = sync.OnceFunc(how(t, b))
	t.Cleanup(heal)
	return heal
}

// Rule is one sentence of a contract.
type Rule struct{ ID, Text string }

// sentence is what a broken rule prints.
func (r *Rule) sentence() string { return fmt.Sprintf("rule %s: %s", r.ID, r.Text) }

// rule is a Rule with the check that proves it.
type rule[S any] struct {
	Rule
	needs Need
	check func(t *testing.T, s S)
}

// Add adds a rule. Its id has the form "group/what-it-says", and its text is a
// sentence. check is called if the subject has all that the rule needs.
func (s *Suite[S]) Add(id, text string, needs Need, check func(t *testing.T, s S)) {
	s.rules = append(s.rules, rule[S]{Rule{id, text}, needs, check})
}

// RulesOf returns the rules of a suite, in the order in which they were added, as the type
// that a suite shows for them.
func RulesOf[R ~struct{ ID, Text string }, S any](s *Suite[S]) []R {
	rules := make([]R, len(s.rules))
	for i := range s.rules {
		rules[i] = R(s.rules[i].Rule)
	}
	return rules
}

// Run tries every rule as a subtest named by its id, on a subject of its own. A rule that
// is broken prints its text, above what its check has to say. (With -v, every rule does.) A
// rule that does not end ends the process, and prints its text and those of the rules that
// failed before. At the end, Run logs how many ran, and which were skipped and why.
func (s *Suite[S]) Run(t *testing.T) {
	t.Helper()
	if !wanted(t, s) {
		s.run(t)
	}
}

// outcome says how many rules ran, which of them failed, and which were skipped for which
// reason.
type outcome struct {
	ran     int
	failed  []string
	skipped map[string][]string
}

// run is Run of some rules, or of all.
func (s *Suite[S]) run(t *testing.T, only ...string) (o outcome) {
	t.Helper()
	for _, complaint := range s.checkSkip() {
		t.Error(complaint)
	}
	o.skipped = make(map[string][]string)
	watch := watchman{limit: cmp.Or(s.limit, deadline)}
	for i := range s.rules {
		r := &s.rules[i]
		if len(only) > 0 && !slices.Contains(only, r.ID) {
			continue
		}
		ok := t.Run(r.ID, func(t *testing.T) {
			defer func() {
				if !t.Skipped() {
					o.ran++
				}
			}()
			forgetRest()
			watch.over(t, r.sentence())
			t.Log(r.sentence()) // before everything else; go test drops it if nothing fails
			reason := s.Skip[r.ID]
			if strings.TrimSpace(reason) == "" {
				reason = s.try(t, r)
			}
			if reason != "" {
				o.skipped[reason] = append(o.skipped[reason], r.ID)
				t.Skip(reason)
			}
		})
		if !ok {
			o.failed = append(o.failed, r.ID)
		}
	}
	t.Log(s.summary(o))
	return o
}

// try checks a rule, or returns why it cannot.
func (s *Suite[S]) try(t *testing.T, r *rule[S]) (skipped string) {
	subject := s.Open(t)
	if skipped = Lacks(s.parts(subject), r.needs); skipped == "" {
		r.check(t, subject)
	}
	return skipped
}

// parts returns Parts of a subject.
func (s *Suite[S]) parts(subject S) func(has Has) {
	return func(has Has) {
		if s.Parts != nil {
			s.Parts(subject, has)
		}
	}
}

// Lacks returns why what needs some parts cannot be tried on a subject, or "". parts tells
// which parts the subject has.
func Lacks(parts func(has Has), needs Need) (reason string) {
	parts(func(part Need, there bool, without string) {
		if reason == "" && needs&part != 0 && !there {
			reason = without
		}
	})
	return reason
}

func (s *Suite[S]) checkSkip() []string {
	known := make(map[string]bool)
	for i := range s.rules {
		known[s.rules[i].ID] = true
	}
	var complaints []string
	for _, id := range slices.Sorted(maps.Keys(s.Skip)) {
		if !known[id] {
			complaints = append(complaints, fmt.Sprintf("%s: Skip names %q, which is no rule", s.Name, id))
		}
		if strings.TrimSpace(s.Skip[id]) == "" {
			complaints = append(complaints, fmt.Sprintf("%s: Skip gives no reason for %q", s.Name, id))
		}
	}
	return complaints
}

// summary says how many rules ran, and which were skipped for which reason. The rest are
// those that -run did not choose.
func (s *Suite[S]) summary(o outcome) string {
	total := 0
	var lines strings.Builder
	for _, reason := range slices.Sorted(maps.Keys(o.skipped)) {
		ids := o.skipped[reason]
		total += len(ids)
		fmt.Fprintf(&lines, "\n%d because %s: %s", len(ids), reason, strings.Join(ids, ", "))
	}
	return fmt.Sprintf("%s: %d of %d rules ran, %d skipped%s", s.Name, o.ran, len(s.rules), total, lines.String())
}
