package httpadapter_test

import (
	"testing"

	"github.com/seed-6363c74e/mortise/internal/testmain"
)

func TestMain(m *testing.M) {
	testmain.Parallel(4) // for bodies that do not come
	m.Run()
}
