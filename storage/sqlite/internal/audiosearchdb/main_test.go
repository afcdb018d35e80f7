package audiosearchdb

import (
	"testing"

	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
)

func TestMain(m *testing.M) { filetest.Main(m, false) }
