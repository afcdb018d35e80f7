package conformance

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var idForm = regexp.MustCompile(`^[a-z]+/[a-z]+(-[a-z]+)*$`)

// CheckRules fails the test if an id is there twice or not of the form "interface/what-it-says", or if a text is no sentence. texts are
// those of the suite, by id and in order.
func CheckRules(t *testing.T, ids, texts []string) {
	t.Helper()
	seen := make(map[string]bool)
	for i, id := range ids {
		if !idForm.MatchString(id) || seen[id] {
			t.Errorf("the id %q is not well formed, or there twice", id)
		}
		seen[id] = true
		if !strings.HasSuffix(texts[i], ".") {
			t.Errorf("the text of %s is no sentence: %q", id, texts[i])
		}
	}
}

// Mutants runs a suite against mutants: backends that each break some rules. A mutant has to fail, so it runs in another process, in the
// test TestMutant, which must be the caller's: it asks for its mutant by the environment variable Env, and skips without.
type Mutants struct {
	Env    string
	Texts  map[string]string   // of all rules, by id
	Breaks map[string][]string // the ids of the rules that each mutant breaks, by its name
}

// Prove fails the test if a mutant passes a rule that it breaks, if the failure does not
// print the rule, or if a rule is broken by no mutant. A mutant has one try: where its
// mistake shows only in a race, [Seam] makes it lose the race always.
func (m *Mutants) Prove(t *testing.T) {
	caught := make(map[string]bool)
	for name, breaks := range m.Breaks {
		for _, id := range breaks {
			if m.Texts[id] == "" {
				t.Errorf("the mutant %q breaks %q, which is no rule", name, id)
			}
			caught[id] = true
		}
	}
	for id := range m.Texts {
		if !caught[id] {
			t.Errorf("no mutant breaks %s", id)
		}
	}
	for name, breaks := range m.Breaks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output, _ := m.Run(t, name, breaks...)
			for _, not := range []string{"DATA RACE", seamMissed} {
				if strings.Contains(output, not) {
					t.Fatalf("the mutant is broken in another way than it should be: %s\n%s", not, output)
				}
			}
			passed := slices.DeleteFunc(slices.Clone(breaks), func(id string) bool {
				return strings.Contains(output, "--- FAIL: TestMutant/"+id+" ") && strings.Contains(output, "rule "+id+": "+m.Texts[id])
			})
			if len(passed) > 0 {
				t.Fatalf("it passes %v:\n%s", passed, output)
			}
		})
	}
}

// Run runs rules against a mutant in another process and returns its output, and whether all passed. It may run some more rules than those
// asked for; without any it runs all.
func (m *Mutants) Run(t *testing.T, name string, rules ...string) (output string, passed bool) {
	t.Helper()
	pattern := "^TestMutant$"
	if len(rules) > 0 {
		var groups, names []string
		for _, id := range rules {
			group, name, _ := strings.Cut(id, "/")
			groups, names = append(groups, group), append(names, name)
		}
		pattern += "/^(" + strings.Join(groups, "|") + ")$/^(" + strings.Join(names, "|") + ")$"
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.count=1", "-test.timeout=30m", "-test.run="+pattern)
	// The race detector sleeps for a second at the end of a process unless it is told not to.
	cmd.Env = append(os.Environ(), m.Env+"="+name, envImpatient+"=1", "GORACE=atexit_sleep_ms=0",
		fmt.Sprint("GOMAXPROCS=", runtime.GOMAXPROCS(0))) // -test.cpu
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}
