//go:build !cgo

package e2e

import (
	"os"
	"testing"
)

// TestOIPLogits and the other tests of a model on an inference server run it by ONNX
// Runtime.
func TestOIPLogits(t *testing.T) {
	if os.Getenv("CI") == "true" {
		t.Fatal("cgo is missing: set CGO_ENABLED=1, and install a C compiler")
	}
	t.Skip("cgo is missing")
}
