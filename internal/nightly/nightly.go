// Package nightly marks tests that are too long for go test work: whole tests, whose promise
// a shorter one tries as well. It is for tests alone.
package nightly

import (
	"os"
	"testing"
)

// Only skips a test unless the environment has MORTISE_NIGHTLY=1.
func Only(t testing.TB) {
	t.Helper()
	if os.Getenv("MORTISE_NIGHTLY") != "1" {
		t.Skip("MORTISE_NIGHTLY=1 runs it (.ci/nightly does)")
	}
}
