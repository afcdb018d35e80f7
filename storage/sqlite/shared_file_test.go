package sqlite_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/triggerdb"
	"github.com/seed-6363c74e/mortise/trigger"
)

// contender writes events with their jobs and claims jobs, both at once, until it has
// written so many and there is nothing to claim.
type contender struct {
	Written []uuid.UUID
	Claimed []uuid.UUID
	Worst   time.Duration
}

func contend(ctx context.Context, db *sqlite.DB, writers, each int) (*contender, error) {
	var c contender
	var mu sync.Mutex
	var failed error
	note := func(begun time.Time, err error) {
		mu.Lock()
		defer mu.Unlock()
		failed = errors.Join(failed, err)
		c.Worst = max(c.Worst, time.Since(begun))
	}
	var writing, claiming sync.WaitGroup
	for range writers {
		writing.Go(func() {
			for range each {
				e := newEvent()
				begun := time.Now()
				_, created, err := db.Trigger().Store.(*triggerdb.Store).CreateEventAndAdd(ctx, e, time.Time{}, e.Job())
				if err == nil && !created {
					err = errors.New("not created")
				}
				note(begun, err)
				mu.Lock()
				if err == nil {
					c.Written = append(c.Written, e.ID)
				}
				mu.Unlock()
			}
		})
	}
	var written atomic.Bool
	for range 2 {
		claiming.Go(func() {
			for {
				last := written.Load()
				begun := time.Now()
				leases, err := db.Jobs().Claim(ctx, triggerClaim(5))
				note(begun, err)
				mu.Lock()
				for _, l := range leases {
					c.Claimed = append(c.Claimed, eventOf(l))
				}
				mu.Unlock()
				if err != nil || last && len(leases) == 0 {
					return
				}
			}
		})
	}
	writing.Wait()
	written.Store(true)
	claiming.Wait()
	return &c, failed
}

// checkContenders wants every event stored, and every job claimed once.
func checkContenders(t *testing.T, db *sqlite.DB, all ...*contender) {
	t.Helper()
	claims, total := make(map[uuid.UUID]int), 0
	for i, c := range all {
		t.Logf("contender %d: %d written, %d claimed, worst wait %v", i, len(c.Written), len(c.Claimed), c.Worst)
		total += len(c.Written)
		for _, id := range c.Claimed {
			claims[id]++
		}
	}
	leases, err := db.Jobs().Claim(t.Context(), triggerClaim(10000))
	require.NoError(t, err)
	for _, l := range leases { // that came after the last claim of them all
		claims[eventOf(l)]++
	}
	for _, c := range all {
		for _, id := range c.Written {
			_, err := db.Trigger().Store.Event(t.Context(), "acme", id)
			require.NoError(t, err, "an event is lost")
			require.Equal(t, 1, claims[id], "claims of one job")
		}
	}
	require.Len(t, claims, total)
}

// TestTwoDatabases: two values of DB over one file.
func TestTwoDatabases(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	one, two := openAt(t, path, nil), openAt(t, path, nil)
	var a, b *contender
	var wg sync.WaitGroup
	wg.Go(func() {
		var err error
		a, err = contend(t.Context(), one, 8, 50)
		assert.NoError(t, err)
	})
	wg.Go(func() {
		var err error
		b, err = contend(t.Context(), two, 8, 50)
		assert.NoError(t, err)
	})
	wg.Wait()
	checkContenders(t, one, a, b)
}

// TestFairness: a single write is let in within the busy timeout, while another DB
// commits without a pause.
func TestFairness(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	greedy, modest := openAt(t, path, nil), openAt(t, path, nil)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var commits atomic.Int64
	for range 16 {
		wg.Go(func() {
			for ctx.Err() == nil {
				_, _, err := greedy.Trigger().Store.CreateEvent(context.Background(), newEvent(), time.Time{})
				assert.NoError(t, err)
				commits.Add(1)
			}
		})
	}
	var worst, sum time.Duration
	const writes = 50
	for range writes {
		begun := time.Now()
		create(t, modest, newEvent())
		worst, sum = max(worst, time.Since(begun)), sum+time.Since(begun)
	}
	stop()
	wg.Wait()
	t.Logf("worst wait %v, mean %v, beside %d writes of the other one", worst, sum/writes, commits.Load())
}

// The environment of TestTwoProcesses' second process.
const (
	childPath   = "MORTISE_SQLITE_CHILD"
	childAnswer = "MORTISE_SQLITE_ANSWER"
)

func TestTwoProcesses(t *testing.T) {
	folder := t.TempDir()
	if path := os.Getenv(childPath); path != "" { // the second process
		db := openAt(t, path, &sqlite.Options{BusyTimeout: time.Minute})
		c, err := contend(t.Context(), db, 8, 50)
		require.NoError(t, err)
		answer, err := json.Marshal(c)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(os.Getenv(childAnswer), answer, 0o600))
		return
	}
	path, answer := filepath.Join(folder, "test.db"), filepath.Join(folder, "answer.json")
	// It opens the new file at the same time.
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTwoProcesses$", "-test.count=1")
	child.Env = append(os.Environ(), childPath+"="+path, childAnswer+"="+answer)
	var childErr error
	var childOutput []byte
	var wg sync.WaitGroup
	wg.Go(func() { childOutput, childErr = child.CombinedOutput() })
	db := openAt(t, path, &sqlite.Options{BusyTimeout: time.Minute})
	var mine, its contender
	for childRuns, done := true, make(chan struct{}); childRuns; {
		if mine.Written == nil {
			go func() {
				wg.Wait()
				close(done)
			}()
		}
		c, err := contend(t.Context(), db, 8, 10)
		require.NoError(t, err)
		mine.Written, mine.Claimed = append(mine.Written, c.Written...), append(mine.Claimed, c.Claimed...)
		mine.Worst = max(mine.Worst, c.Worst)
		select {
		case <-done:
			childRuns = false
		default:
		}
	}
	require.NoError(t, childErr, string(childOutput))
	data, err := os.ReadFile(answer)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &its))
	require.NotEmpty(t, its.Written)
	checkContenders(t, db, &mine, &its)
}

// TestJobsOfOthers: an idle worker begins a job that another process has added, at its
// next poll (500 ms), and one that its own process has added through another queue at
// once.
func TestJobsOfOthers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	here, elsewhere := openAt(t, path, &sqlite.Options{BusyTimeout: time.Minute}), openAt(t, path, &sqlite.Options{BusyTimeout: time.Minute})
	got := make(chan mortise.Job, 1)
	ctx, stop := context.WithCancel(t.Context())
	var consumer sync.WaitGroup
	consumer.Go(func() {
		assert.NoError(t, here.Queue(nil).Consume(ctx, mortise.ConsumeOptions{Kinds: []string{trigger.JobKind}}, func(_ context.Context, d mortise.Delivery) mortise.Verdict {
			got <- d.Job
			return mortise.Verdict{Kind: mortise.VerdictDone}
		}))
	})
	defer consumer.Wait()
	defer stop()
	for name, db := range map[string]*sqlite.DB{"another process": elsewhere, "another queue": here} {
		for range 3 {
			time.Sleep(20 * time.Millisecond) // the consumer is idle again
			job := newJob()
			require.NoError(t, db.Queue(nil).Enqueue(t.Context(), job))
			begun := time.Now()
			select {
			case begun := <-got:
				require.Equal(t, job, begun)
			case <-time.After(30 * time.Second):
				t.Fatalf("a job of %s was never begun", name)
			}
			t.Logf("a job of %s was begun after %v", name, time.Since(begun))
		}
	}
}
