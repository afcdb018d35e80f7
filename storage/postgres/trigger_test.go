package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/effort"
	"github.com/seed-6363c74e/mortise/storage/postgres"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// events is the harness of the suite of package trigger.
func events(from func(testing.TB) *database) triggertest.Harness {
	type opened struct {
		db *postgres.DB
		d  *database
	}
	bases := make(map[any]opened)
	open := func(t *testing.T, d *database) trigger.Backend {
		db := d.open(t, nil)
		b := db.Trigger()
		bases[b.Store] = opened{db, d}
		return b
	}
	return triggertest.Harness{
		Open: func(t *testing.T) trigger.Backend { return open(t, from(t)) },
		Reopen: func(t *testing.T, b trigger.Backend) trigger.Backend {
			require.NoError(t, bases[b.Store].db.Close())
			return open(t, bases[b.Store].d)
		},
		Leases: func(b trigger.Backend) mortise.Leases { return bases[b.Store].db.Jobs() },
		Break:  func(t *testing.T, b trigger.Backend) (heal func()) { return bases[b.Store].d.refuse(t) },
	}
}

func TestTrigger(t *testing.T) {
	t.Parallel()
	h := events(newDatabase)
	h.Skip = effort.LeaveToMemory(4, triggertest.Rules(), "TestTrigger")
	triggertest.Run(t, h)
}
