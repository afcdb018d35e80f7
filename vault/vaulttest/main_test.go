package vaulttest_test

import (
	"testing"

	"github.com/seed-6363c74e/mortise/internal/effort"
)

// TestMain lets many mutants run side by side: most of them wait for what does not come.
func TestMain(m *testing.M) {
	effort.Waiting(2)
	m.Run()
}
