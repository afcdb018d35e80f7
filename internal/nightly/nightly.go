// Package nightly marks tests that are too long for go test work: whole tests. A shorter test
// tries the same promise where there can be one. It is for tests alone.
package nightly

import (
	"os"
	"testing"
)

// On reports whether the environment has MORTISE_NIGHTLY=1.
func On() bool { return os.Getenv("MORTISE_NIGHTLY") == "1" }

// Only skips a test unless the environment has MORTISE_NIGHTLY=1.
func Only(t testing.TB) {
	t.Helper()
	if !On() {
		t.Skip("MORTISE_NIGHTLY=1 runs it (.ci/nightly does)")
	}
}
