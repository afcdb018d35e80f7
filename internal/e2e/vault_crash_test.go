package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// TestKillUnderInsertions kills the server with SIGKILL, again and again, while clients
// insert values that are new, that they have inserted before, and that others insert at
// the same moment. Every token that was answered is there afterwards, it is the only one
// of its value, and of a batch that got no answer everything is there or nothing.
//
// MORTISE_SEED=N kills at the same moments.
func TestKillUnderInsertions(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	const clients = 6
	const kills = 50
	seed := seeded(t)
	moments := rand.New(rand.NewPCG(seed, 1<<35))
	p := buildServer(t)
	dir, config := t.TempDir(), writeVaults(t, personsTable, "")
	l := newInsertions(t, clients, seed)
	for kill := range kills {
		s := p.startIn(t, dir, nil, "-config", config)
		s.guard(vaultTokens()...)
		var killed atomic.Bool
		end := func() {
			killed.Store(true)
			_ = s.cmd.Process.Kill()
		}
		// As in TestKillUnderLoad: most come as soon as an answer is there, some at any
		// time.
		last := l.answered.Load() + 1 + moments.Int64N(100)
		pause := time.Duration(moments.IntN(500)) * time.Millisecond
		byClock := moments.IntN(3) == 0 && kill > 0 // the first one finds something
		l.after = func(n int64) {
			if n == last && !byClock {
				end()
			}
		}
		wait := l.run(s.url, func(status int, err error) {
			if status != 0 || !killed.Load() {
				assert.NoError(t, err, "kill %d", kill)
			}
		})
		if byClock {
			time.Sleep(pause)
			end()
		}
		wait()
		<-s.exited
	}
	s := p.startIn(t, dir, nil, "-config", config)
	lost, there := l.check(s)
	s.stop()
	usage := usageIn(t, dir)
	assert.Equal(t, len(l.tokens)+there, usage.Rows, "a value has two tokens, or a row that nobody asked for")
	assert.Equal(t, map[int]int{1: usage.Rows}, usage.Fingerprints)
	assert.Equal(t, map[int]int{1: usage.Rows}, usage.Sealed)
	t.Logf("%d kills; %d answers; %d values; batches without an answer: %d, of whose values %d more are stored", kills, l.answered.Load(), len(l.tokens), lost, there)
}

// insertions are clients that insert values, and know what they were told.
type insertions struct {
	t        testing.TB
	caller   *vaultCaller
	answered atomic.Int64
	after    func(n int64) // called by whoever got the n-th answer
	rands    []*rand.Rand  // of the clients
	next     []int         // the number of each client's next value

	mu     sync.Mutex
	tokens map[string]string // by value
	lost   []lostBatch       // those that got no answer
}

// lostBatch is a batch, and the values of it that no other one has.
type lostBatch struct{ all, fresh []string }

func newInsertions(t *testing.T, clients int, seed uint64) *insertions {
	l := &insertions{t: t, caller: newVaultCaller(t, clients), next: make([]int, clients), tokens: make(map[string]string)}
	for client := range clients {
		l.rands = append(l.rands, rand.New(rand.NewPCG(seed, uint64(client))))
	}
	return l
}

// run has everybody insert until a call fails. It returns a function that waits for that.
func (l *insertions) run(url string, failed func(status int, err error)) (wait func()) {
	var running sync.WaitGroup
	for client := range l.rands {
		running.Go(func() {
			for {
				if status, err := l.step(client, url); err != nil {
					failed(status, err)
					return
				}
			}
		})
	}
	return running.Wait
}

func (l *insertions) step(client int, url string) (status int, err error) {
	r := l.rands[client]
	var fresh []string // nobody else inserts these
	for range 1 + r.IntN(40) {
		fresh = append(fresh, fmt.Sprintf("value %d of client %d", l.next[client], client))
		l.next[client]++
	}
	batch := slices.Clone(fresh)
	for range r.IntN(5) { // these others may be about to insert, too
		batch = append(batch, fmt.Sprintf("shared value %d", r.IntN(2000)))
	}
	r.Shuffle(len(batch), func(i, j int) { batch[i], batch[j] = batch[j], batch[i] })
	tokens, status, err := l.caller.insert(l.t, url, batch)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.lost = append(l.lost, lostBatch{batch, fresh})
		return status, err
	}
	for i, value := range batch {
		if was, ok := l.tokens[value]; ok && was != tokens[i] {
			l.t.Errorf("%q had the token %s, and has %s now", value, was, tokens[i])
		}
		l.tokens[value] = tokens[i]
	}
	if n := l.answered.Add(1); l.after != nil {
		l.after(n)
	}
	return status, nil
}

// check asks the last server for all tokens that were answered, and looks for the values
// of batches that got no answer. It returns how many of these there were, and how many of
// their values are there that no other batch has.
func (l *insertions) check(s *server) (lost, there int) {
	l.t.Helper()
	for values := range slices.Chunk(slices.Sorted(maps.Keys(l.tokens)), 1000) {
		tokens, _, err := l.caller.tokenize(l.t, s.url, values)
		require.NoError(l.t, err, "a value that was answered is lost")
		for i, value := range values {
			require.Equal(l.t, l.tokens[value], tokens[i], value)
		}
	}
	stored := make(map[string]bool) // of the values without an answer
	isStored := func(value string) bool {
		l.t.Helper()
		if _, answered := l.tokens[value]; answered {
			return true
		}
		_, status, _ := l.caller.tokenize(l.t, s.url, []string{value})
		require.Contains(l.t, []int{http.StatusOK, http.StatusNotFound}, status, value)
		if status == http.StatusOK {
			stored[value] = true
		}
		return stored[value]
	}
	for _, batch := range l.lost {
		count := 0
		for _, value := range batch.fresh {
			if isStored(value) {
				count++
			}
		}
		assert.Contains(l.t, []int{0, len(batch.fresh)}, count, "half of a batch is stored")
		for _, value := range batch.all {
			assert.True(l.t, isStored(value) || count == 0, "half of a batch is stored")
		}
	}
	return len(l.lost), len(stored)
}
