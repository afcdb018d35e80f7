package vaulttest_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/vault/vaulttest"
)

func TestModel(t *testing.T) { vaulttest.RunModel(t, harness(func(*mutant) {}), nil) }

// envModelMutant names the mutant in a process that runs the model in order to fail.
const envModelMutant = "VAULTTEST_MODEL_MUTANT"

// TestModelMutant is run by TestModelMutants.
func TestModelMutant(t *testing.T) {
	name := os.Getenv(envModelMutant)
	if name == "" {
		t.Skip("run by TestModelMutants")
	}
	vaulttest.RunModel(t, harnesses()[name], nil)
}

// TestModelMutants: the model finds backends that are wrong about what a service makes
// use of, and says how to come there again. They are those whose own state, if any, is
// safe for concurrent use, and that are wrong however the calls of a sequence come
// together: the rules find the others.
func TestModelMutants(t *testing.T) {
	for _, name := range []string{
		"adds fingerprints before it refuses", "adds no fingerprints",
		"asks for fingerprints before it retires", "asks the fingerprints of version 1 for their scopes",
		"changes the vault and then looks at its scopes", "compares half of a fingerprint", "deletes nothing and says nothing",
		"deletes without an event", "does not look at the revision", "empties a vault that is changed", "finds each value once",
		"forgets the event of a change", "gives each insertion a token of its own", "gives tokens twice", "has one scope for all",
		"has one version for all", "ignores what is required", "keeps ciphertexts as text", "keeps retired versions required",
		"imports as it inserts", "imports deleted tokens", "imports without an event",
		"keeps the first fingerprint only", "keeps the version of a ciphertext", "knows vaults by their ID alone",
		"lets every scope be left", "lists from the given token on", "lists the other way round",
		"loses a revision", "makes vaults that are there", "names the first row of an import that is taken",
		"reads tokens by their vault's ID alone", "refuses rows that are there", "refuses rows that have one",
		"removes nothing and counts", "repeats events of equal times", "requires every version", "requires nothing", "retires nothing",
		"retires once", "retires what is in use", "returns the key that it is given",
		"scans deterministic rows only", "scans one organization", "scans random rows as those without fingerprints",
		"shows every organization's events", "shows the oldest events first", "skips events of equal times",
		"stores events of what it refuses", "stores random rows once", "stores under retired keys",
		"truncates times to seconds",
	} {
		require.Contains(t, harnesses(), name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.count=1", "-test.timeout=10m", "-test.run=^TestModelMutant$")
			cmd.Env = append(os.Environ(), envModelMutant+"="+name, "GORACE=atexit_sleep_ms=0")
			out, err := cmd.CombinedOutput()
			require.Error(t, err, "the model did not find it")
			require.Contains(t, string(out), "The steps of TestModelMutant/seed_")
		})
	}
}
