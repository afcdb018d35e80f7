package sqlite_test

import (
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/triggerdb"
	"github.com/seed-6363c74e/mortise/trigger"
)

// noSpace is the environment of TestNoSpace's second process, whose files cannot grow at
// times.
const noSpace = "MORTISE_SQLITE_NO_SPACE"

// TestNoSpace: when the disk is full, writes fail and reads go on; what was acknowledged
// is there, what failed is not half there, and writes succeed again as soon as there is
// space.
func TestNoSpace(t *testing.T) {
	nightly.Only(t)
	if os.Getenv(noSpace) == "" {
		t.Parallel()
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNoSpace$", "-test.count=1", "-test.v")
		child.Env = append(os.Environ(), noSpace+"=1")
		output, err := child.CombinedOutput()
		require.NoError(t, err, string(output))
		return
	}
	signal.Ignore(syscall.SIGXFSZ) // then a write beyond the limit fails with EFBIG
	path := filepath.Join(t.TempDir(), "test.db")
	db, err := sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	limit := func(size uint64) {
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: math.MaxUint64}))
	}
	first := create(t, db, newEvent())
	acknowledged := []trigger.Event{first}
	// Nobody writes: it is found out by asking.
	found := func(full bool) {
		require.Eventually(t, func() bool { return (db.Ping(t.Context()) != nil) == full }, time.Minute, 10*time.Millisecond)
	}
	limit(1) // no room at all, not for the smallest write
	found(true)
	for round := range 6 {
		full := round%2 == 0
		limit(math.MaxUint64)
		if full {
			wal, err := os.Stat(path + "-wal")
			require.NoError(t, err)
			// In the midst of a page, and with space for some commits.
			limit(uint64(wal.Size()) + uint64(round)*60_000 + 1000)
		}
		var mu sync.Mutex
		var wg sync.WaitGroup
		failed := 0
		// A log that has been copied into the file begins anew, so a full disk may have
		// space for more commits than these.
		more := func(n int) bool {
			mu.Lock()
			defer mu.Unlock()
			return n < 10 || full && failed == 0
		}
		for range 16 {
			wg.Go(func() {
				for n := 0; more(n); n++ {
					e := newEvent()
					e.IdempotencyKey = e.ID.String()
					e.Context = []byte(`"` + strings.Repeat("x", 2000) + `"`)
					_, created, err := db.Trigger().Store.(*triggerdb.Store).CreateEventAndAdd(t.Context(), e, time.Time{}, e.Job())
					_, readErr := db.Trigger().Store.Event(t.Context(), "acme", first.ID)
					mu.Lock()
					assert.NoError(t, readErr)
					if err == nil {
						assert.True(t, created)
						acknowledged = append(acknowledged, e)
					} else {
						requireUnavailable(t, err)
						failed++
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		t.Logf("full: %v, failed: %d", full, failed)
		require.Equal(t, full, failed > 0)
		if full {
			limit(1)
		}
		found(full)
	}
	limit(math.MaxUint64)
	require.NoError(t, db.Close())
	db = openAt(t, path, nil)
	for _, want := range acknowledged {
		got, err := db.Trigger().Store.Event(t.Context(), "acme", want.ID)
		require.NoError(t, err, "acknowledged and lost")
		require.Equal(t, want, got)
	}
	leases, err := db.Jobs().Claim(t.Context(), triggerClaim(10000))
	require.NoError(t, err)
	for _, l := range leases {
		_, err := db.Trigger().Store.Event(t.Context(), "acme", eventOf(l))
		require.NoError(t, err, "a job without its event")
	}
	require.GreaterOrEqual(t, len(leases), len(acknowledged)-1)
}
