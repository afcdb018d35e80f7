package conformance

import (
	"runtime"
	"strings"
	"testing"
)

// ProveModel fails the test unless the model finds the named mutants, and says how to come
// there again. The suite's proof has the mutants. They are tried in other processes,
// which run the calling test again.
func ProveModel[H any](t *testing.T, p *Proof[H], model func(t *testing.T, h H), names ...string) {
	if serveTrials(t, func(t *testing.T, mutant string) {
		m, _ := p.mutant(mutant)
		model(t, m.harness)
	}) {
		return
	}
	test := t.Name()
	others := startTrials(t, test, runtime.GOMAXPROCS(0))
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, ok := p.mutant(name); !ok {
				t.Fatalf("there is no mutant %q", name)
			}
			if output := others.try(name); !strings.Contains(output, "The steps of "+test+"/") || strings.Contains(output, "DATA RACE") {
				t.Fatalf("the model did not find it:\n%s", output)
			}
		})
	}
}
