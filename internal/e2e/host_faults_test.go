package e2e

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// TestHostFaults: hosts share the work of a queue, whatever becomes of one of them or of the
// database for a while. Their work takes a little, so that much of it is waiting then.
func TestHostFaults(t *testing.T) {
	t.Parallel()
	nightly.Only(t)
	self, err := os.Executable()
	require.NoError(t, err)
	for _, queue := range []string{"river", "postgres"} {
		t.Run(queue, func(t *testing.T) {
			t.Parallel()
			db := startPostgres(t)
			f := newFleet(t, 2, databaseURL(db), "-config", writeConfig(t))
			f.program, f.env = program(self), []string{"E2E_HOST=" + queue}
			tr := newTrialOf(t, f)
			tr.through(append(killsOf(tr, 3), faultsOf(tr, db)...))
			tr.end()
		})
	}
}
