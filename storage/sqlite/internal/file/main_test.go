package file

import (
	"testing"

	"github.com/seed-6363c74e/mortise/internal/testmain"
)

func TestMain(m *testing.M) {
	testmain.Parallel(2) // for the disk, and for locks
	defer testmain.TempInMemory()()
	m.Run()
}
