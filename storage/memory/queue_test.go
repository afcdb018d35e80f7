package memory_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/storage/queuetest"
)

func TestQueue(t *testing.T) {
	queuetest.Run(t, queuetest.Harness{Open: func(t *testing.T) queuetest.Backend {
		var now atomic.Pointer[func() time.Time]
		setNow := func(f func() time.Time) {
			if f == nil {
				f = time.Now
			}
			now.Store(&f)
		}
		setNow(nil)
		opts := &memory.Options{Now: func() time.Time { return (*now.Load())() }}
		db, err := memory.Open(t.Context(), opts)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		return queuetest.Backend{Leases: db.Jobs(), Queue: db.Queue(nil), SetNow: setNow}
	}})
}
