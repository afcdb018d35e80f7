package river_test

import (
	"testing"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/queuetest"
)

// TestQueue is the conformance suite of queues. To reopen is to take another pool, and to
// break is to be refused by the database.
func TestQueue(t *testing.T) {
	t.Parallel()
	databases := make(map[mortise.Queue]*database)
	open := func(t *testing.T, d *database) queuetest.Backend {
		q := d.queue(t, nil)
		databases[q] = d
		return queuetest.Backend{Queue: q}
	}
	queuetest.Run(t, queuetest.Harness{
		Open:   func(t *testing.T) queuetest.Backend { return open(t, newDatabase(t)) },
		Reopen: func(t *testing.T, b queuetest.Backend) queuetest.Backend { return open(t, databases[b.Queue]) },
		Break:  func(t *testing.T, b queuetest.Backend) (heal func()) { return databases[b.Queue].refuse(t) },
		Skip: map[string]string{
			"queue/turns":  "River hands out the jobs of a queue by priority and time, and does not know organizations",
			"queue/beside": "River cannot be told to leave out the jobs of one organization",
		},
	})
}
