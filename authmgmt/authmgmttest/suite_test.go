package authmgmttest_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/authmgmttest"
)

// broken is a mutant with the rules that it breaks.
type broken struct {
	name   string
	breaks []string
	mutate func(*mutant)
	reopen func(*testing.T, authmgmttest.Backend) authmgmttest.Backend
}

func mutants() []broken {
	return slices.Concat(fieldMutants, nameMutants, updateMutants, clientMutants, tokenMutants, prunerMutants, invitationMutants, ctxMutants,
		listMutants, auditMutants, reopenMutants)
}

// harness opens mutants. One that is faithful passes every rule: what Reopen returns is the same data, and Break makes it fail.
func harness(mutate func(*mutant)) authmgmttest.Harness {
	return authmgmttest.Harness{
		Open: func(t *testing.T) authmgmttest.Backend {
			m := newMutant(t)
			mutate(m)
			return m.backend()
		},
		Reopen: func(_ *testing.T, b authmgmttest.Backend) authmgmttest.Backend { return b },
		Break: func(_ *testing.T, b authmgmttest.Backend) func() {
			m := b.Store.(*mutant)
			m.broken.Store(true)
			return func() { m.broken.Store(false) }
		},
	}
}

// TestFaithful tries every rule on a backend that is right, those of Reopen and Break included.
func TestFaithful(t *testing.T) { authmgmttest.Run(t, harness(func(*mutant) {})) }

var idForm = regexp.MustCompile(`^[a-z]+/[a-z]+(-[a-z]+)*$`)

// TestRules: ids are unique and well formed, texts are sentences.
func TestRules(t *testing.T) {
	seen := make(map[string]bool)
	for _, r := range authmgmttest.Rules() {
		require.Regexp(t, idForm, r.ID)
		require.False(t, seen[r.ID], "%s is there twice", r.ID)
		seen[r.ID] = true
		require.True(t, strings.HasSuffix(r.Text, "."), "text of %s", r.ID)
	}
}

// envMutant names the mutant in a process that runs the suite in order to fail.
const envMutant = "AUTHMGMTTEST_MUTANT"

// TestMutant runs the suite against the mutant that the environment names. It is run by TestMutants.
func TestMutant(t *testing.T) {
	name := os.Getenv(envMutant)
	if name == "" {
		t.Skip("run by TestMutants")
	}
	authmgmttest.Run(t, harnesses()[name])
}

// runMutant runs rules against a mutant in another process and returns its output, and whether all passed. It may run some
// more rules than those asked for; without any it runs all.
func runMutant(t *testing.T, name string, rules ...string) (output string, passed bool) {
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
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.count=1", "-test.timeout=5m", "-test.run="+pattern)
	// The race detector sleeps for a second at the end of a process unless it is told not to.
	cmd.Env = append(os.Environ(), envMutant+"="+name, "GORACE=atexit_sleep_ms=0")
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// TestMutants: each broken backend fails the rules that it breaks, and the failure prints the rule. There is one for every rule.
func TestMutants(t *testing.T) {
	texts := make(map[string]string)
	for _, r := range authmgmttest.Rules() {
		texts[r.ID] = r.Text
	}
	caught := make(map[string]bool)
	for _, m := range mutants() {
		for _, id := range m.breaks {
			require.Contains(t, texts, id)
			caught[id] = true
		}
	}
	for id := range texts {
		require.True(t, caught[id], "no mutant breaks %s", id)
	}
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			// A race is lost now and then, not always.
			missed := m.breaks
			var output string
			for try := 0; try < 5 && len(missed) > 0; try++ {
				output, _ = runMutant(t, m.name, missed...)
				require.NotContains(t, output, "DATA RACE", "the mutant is broken in another way than it should be")
				missed = slices.DeleteFunc(slices.Clone(missed), func(id string) bool {
					return strings.Contains(output, "--- FAIL: TestMutant/"+id+" ") && strings.Contains(output, "rule "+id+": "+texts[id])
				})
			}
			require.Empty(t, missed, output)
		})
	}
}

// TestSkipping: what is skipped is counted with its reason, and a Skip that makes no sense fails the suite.
func TestSkipping(t *testing.T) {
	output, passed := runMutant(t, "only a store")
	require.True(t, passed, output)
	for _, reason := range []string{
		"the backend has no Organizations", "the harness has no Reopen", "the harness has no Break", "its Store is no Pruner", "its Store is no KeyChecker",
		"no strings today: clients/strings-keep-every-byte",
	} {
		require.Contains(t, output, " because "+reason)
	}

	output, passed = runMutant(t, "bad skip")
	require.False(t, passed)
	require.Contains(t, output, `Skip names "clients/no-such-rule", which is no rule`)
	require.Contains(t, output, `Skip gives no reason for "clients/get-unknown"`)
	require.Contains(t, output, "--- PASS: TestMutant/clients/get-unknown", "a Skip without a reason skips nothing")
}

// plainStore hides what a store can do beyond Store.
type plainStore struct{ authmgmt.Store }

// harnesses returns the harness of every mutant, and those of TestSkipping.
func harnesses() map[string]authmgmttest.Harness {
	all := make(map[string]authmgmttest.Harness)
	for _, m := range mutants() {
		h := harness(m.mutate)
		if m.reopen != nil {
			h.Reopen = m.reopen
		}
		all[m.name] = h
	}
	all["only a store"] = authmgmttest.Harness{
		Open: func(t *testing.T) authmgmttest.Backend { return authmgmttest.Backend{Store: plainStore{newMutant(t)}} },
		Skip: map[string]string{"clients/strings-keep-every-byte": "no strings today"},
	}
	bad := all["only a store"]
	bad.Skip = map[string]string{"clients/no-such-rule": "because", "clients/get-unknown": " "}
	all["bad skip"] = bad
	return all
}
