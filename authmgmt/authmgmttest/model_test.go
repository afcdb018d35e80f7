package authmgmttest_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/authmgmt/authmgmttest"
)

func TestModel(t *testing.T) { authmgmttest.RunModel(t, harness(func(*mutant) {}), nil) }

// envModelMutant names the mutant in a process that runs the model in order to fail.
const envModelMutant = "AUTHMGMTTEST_MODEL_MUTANT"

// TestModelMutant is run by TestModelMutants.
func TestModelMutant(t *testing.T) {
	name := os.Getenv(envModelMutant)
	if name == "" {
		t.Skip("run by TestModelMutants")
	}
	authmgmttest.RunModel(t, harnesses()[name], nil)
}

// TestModelMutants: the model finds backends that are wrong about what a service makes
// use of, and says how to come there again.
func TestModelMutants(t *testing.T) {
	for _, name := range []string{
		"cuts to milliseconds CreatedAt of each token", "sorts roles", "knows clients by their ID alone",
		"knows invitations by their ID alone", "forgets the event of a change", "stores events of what it refuses", "says nothing about what is there",
		"revives deleted clients", "looks for digests within the organization", "keeps digests that were removed", "shows deleted clients",
		"keeps the roles of a client's token", "lists tokens without roles", "leaves the tokens of removed secrets",
		"removes all tokens of a client that changes", "takes every address", "compares addresses as they are written",
		"lets expired invitations block", "lets cancelled invitations block", "lets accepted invitations block",
		"asks all organizations", "lists invitations in whatever state", "counts all, whatever is asked for", "grants too early",
		"grants what waits for the person", "lists the other way round", "lists every organization", "ignores the offset", "counts the page",
		"shows the oldest events first", "ignores the kind", "skips events of equal times",
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
