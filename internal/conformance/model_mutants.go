package conformance

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/seed-6363c74e/mortise/internal/effort"
)

// envModelMutant names the mutant in a process that runs a model in order to fail.
const envModelMutant = "MORTISE_MODEL_MUTANT"

// ProveModel fails the test unless the model finds the named mutants, and says how to come
// there again. The mutants are those of the suite's proof. Each is tried in a process of its
// own, which runs the calling test again. On somebody's machine one of ten is tried.
func ProveModel[H any](t *testing.T, p *Proof[H], model func(t *testing.T, h H), names ...string) {
	if name := os.Getenv(envModelMutant); name != "" {
		m, _ := p.mutant(name)
		model(t, m.harness)
		return
	}
	for _, name := range effort.Some(10, names) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, ok := p.mutant(name); !ok {
				t.Fatalf("there is no mutant %q", name)
			}
			test, _, _ := strings.Cut(t.Name(), "/")
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.count=1", "-test.timeout=10m", "-test.run=^"+test+"$")
			cmd.Env = append(os.Environ(), envModelMutant+"="+name, "GORACE=atexit_sleep_ms=0")
			out, err := cmd.CombinedOutput()
			if output := string(out); err == nil || !strings.Contains(output, "The steps of "+test+"/seed_") || strings.Contains(output, "DATA RACE") {
				t.Fatalf("the model did not find it (%v):\n%s", err, output)
			}
		})
	}
}
