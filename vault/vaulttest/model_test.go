package vaulttest_test

import (
	"testing"

	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/vault/vaulttest"
)

func TestModel(t *testing.T) { vaulttest.RunModel(t, faithful.harness(), nil) }

// TestModelMutants: the model finds backends that are wrong about what a service makes
// use of. They are those whose own state, if any, is safe for concurrent use, and that are
// wrong however the calls of a sequence come together: the rules find the others.
func TestModelMutants(t *testing.T) {
	model := func(t *testing.T, h vaulttest.Harness) { vaulttest.RunModel(t, h, nil) }
	conformance.ProveModel(t, proof(), model,
		"adds fingerprints before it refuses", "adds no fingerprints",
		"asks for fingerprints before it retires", "asks the fingerprints of version 1 for their scopes",
		"changes the vault and then looks at its scopes", "compares half of a fingerprint", "deletes nothing and says nothing",
		"deletes without an event", "does not look at the revision", "empties a vault that is changed", "finds each value once",
		"forgets the event of a change", "gives each insertion a token of its own", "gives tokens twice", "has one scope for all",
		"has one version for all", "ignores what is required", "keeps ciphertexts as text", "keeps retired versions required",
		"imports as it inserts", "imports deleted tokens", "imports without an event",
		"keeps the first fingerprint only", "keeps the version of a ciphertext", "knows vaults by their ID alone",
		"lets every scope be left", "lists the other way round in ListRows",
		"loses a revision", "makes vaults that are there", "names the first row of an import that is taken",
		"reads tokens by their vault's ID alone", "refuses rows that are there", "refuses rows that have one",
		"removes nothing and counts", "repeats the last item of a page in ListAuditEvents", "requires every version", "requires nothing", "retires nothing",
		"retires once", "retires what is in use", "returns the key that it is given",
		"scans deterministic rows only", "scans one organization", "scans random rows as those without fingerprints",
		"lists one organization in ListAuditEvents", "lists the other way round in ListAuditEvents",
		"skips the first item of the next page in ListAuditEvents",
		"stores events of what it refuses", "stores random rows once",
		"truncates times to seconds",
	)
}
