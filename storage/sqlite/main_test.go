package sqlite_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/seed-6363c74e/mortise/internal/testmain"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
)

func TestMain(m *testing.M) {
	var plans error
	defer func() {
		if plans != nil {
			fmt.Println(plans)
			os.Exit(1)
		}
	}()
	sqlite.NoteStatements()
	testmain.Parallel(2) // for the disk, and for locks
	defer testmain.TempInMemory()()
	m.Run()
	plans = sqlite.CheckPlans()
}
