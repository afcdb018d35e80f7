package httpadapter_test

import (
	"testing"

	"github.com/seed-6363c74e/mortise/internal/effort"
)

func TestMain(m *testing.M) {
	effort.Waiting(4) // for bodies that do not come
	m.Run()
}
