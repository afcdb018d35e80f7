package e2e

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// TestKillUnderLoad kills the server with SIGKILL, again and again, while clients submit.
// A request answered with 202 is there afterwards as it was sent, and is processed, not before
// its time; a request that is sent again with its Idempotency-Key makes no second event. No event
// whose cancellation was answered begins afterwards, or ends in another way.
//
// MORTISE_SEED=N sends the same and kills at the same moments.
func TestKillUnderLoad(t *testing.T) {
	t.Parallel()
	killUnderLoad(t, 3)
}

// TestManyKillsUnderLoad is TestKillUnderLoad with more kills.
func TestManyKillsUnderLoad(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	killUnderLoad(t, 50)
}

func killUnderLoad(t *testing.T, kills int) {
	const clients = 8
	// What a server may have begun, and not ended, when it dies: it runs 4 attempts at a
	// time (WorkerOptions.Concurrency), and claims as many jobs at once. Only those may
	// be run a second time.
	const concurrency, batch = 4, 4
	seed := seeded(t)
	moments := rand.New(rand.NewPCG(seed, 1<<32))
	p := buildServer(t)
	dir, config := t.TempDir(), writeConfig(t)
	l := newLoad(t, seed, clients)
	l.actions = true
	runs := make(map[string]int)
	var restarts []time.Duration

	for kill := 0; kill < kills; kill++ {
		begun := time.Now()
		s := p.startIn(t, dir, nil, "-config", config)
		restarts = append(restarts, time.Since(begun))
		s.secrets = secrets()

		// Some of the kills come at any time, most as soon as a client has its 202: an
		// answer that is a moment too early has no more than that moment.
		var killed atomic.Bool
		end := func() {
			killed.Store(true)
			_ = s.cmd.Process.Kill()
		}
		last := l.acknowledged.Load() + 1 + moments.Int64N(150)
		pause := time.Duration(moments.IntN(500)) * time.Millisecond
		byClock := moments.IntN(3) == 0 && kill > 0 // the first one finds something
		l.accepted = func(n int64) {
			if n == last && !byClock {
				end()
			}
		}
		wait := l.sendAll(s.url, func(r *request, status int, err error) {
			if status != 0 || !killed.Load() {
				assert.NoError(t, err, "%q, before the kill: %v", r.instructions, !killed.Load())
			}
		})
		if byClock {
			time.Sleep(pause)
			end()
		}
		wait() // until the clients, too, have noticed the end
		<-s.exited
		s.countRuns(runs)

		// Now and then the next one dies young: while it opens the file, recovers it, or
		// is about to listen.
		if moments.IntN(3) == 0 && kill+1 < kills {
			kill++
			young := p.run(t, dir, nil, "-config", config)
			young.secrets = secrets()
			time.Sleep(time.Duration(moments.IntN(40)) * time.Millisecond)
			young.kill()
			young.countRuns(runs)
		}
	}

	begun := time.Now()
	s := p.startIn(t, dir, nil, "-config", config)
	restarts = append(restarts, time.Since(begun))
	s.secrets = secrets()
	again := 0
	for _, c := range l.clients {
		if r := c.pending; r != nil {
			again++
			_, err := c.send(t.Context(), s.url, r)
			assert.NoError(t, err, "sent again after the last kill")
		}
	}
	for _, r := range l.sent {
		// An answer that did arrive could have been lost as well.
		if r.key != "" && moments.IntN(5) == 0 {
			_, err := r.from.send(t.Context(), s.url, r)
			assert.NoError(t, err, "sent again though answered")
		}
	}
	l.awaitIdle(s)
	history, unanswered := l.check(s)
	s.stop()
	s.countRuns(runs)
	duplicates := l.checkRuns(history, runs)
	cancelled, later := 0, 0
	for _, r := range l.sent {
		if r.cancelled != nil {
			cancelled++
			assert.LessOrEqual(t, runs[r.id], r.cancelled.Attempts, "event %s was begun after it was cancelled", r.id)
		}
		if !r.notBefore.IsZero() {
			later++
		}
	}
	bound := kills * (concurrency + batch)
	assert.LessOrEqual(t, duplicates, bound, "events were processed again that had been processed before the kill")
	t.Logf("%d kills; %d requests with a 202, %d of the last kill sent again, %d events of requests without an answer, %d in the history; %d cancelled, %d for later; processed twice: %d (at most %d); slowest of %d starts: %v",
		kills, l.acknowledged.Load(), again, unanswered, len(history), cancelled, later, duplicates, bound, len(restarts), slices.Max(restarts))
}
