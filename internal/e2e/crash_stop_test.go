package e2e

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// TestGracefulStopLosesNothing ends the server with SIGTERM, again and again, while
// clients submit. No request is cut off, what was answered with 202 is there after the
// next start and is processed, and nothing is processed twice.
//
// Half of the clients open a connection for each request. Those that get through are
// served to the end; a request is left without an answer only by a connection that the
// server never took, so its event is not in the history.
//
// The others keep their connections. HTTP has no way to close one that idles without a
// race against the next request (RFC 9112, 9.5), so such a request may be lost too, and
// its event may even be there: that is what the Idempotency-Key is for.
func TestGracefulStopLosesNothing(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	const clients = 8
	const stops = 50
	seed := seeded(t)
	moments := rand.New(rand.NewPCG(seed, 1<<32))
	p := buildServer(t)
	dir, config := t.TempDir(), writeConfig(t)
	l := newLoad(t, seed, clients)
	fresh := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for i := range clients / 2 {
		l.clients[i].http = fresh
	}
	runs := make(map[string]int)
	var took []time.Duration

	for range stops {
		s := p.startIn(t, dir, nil, "-config", config, "-lease", "15s") // which no busy machine outlasts
		s.secrets = secrets()
		stopping := make(chan struct{})
		var mu sync.Mutex
		wait := l.sendAll(s.url, func(r *request, status int, err error) {
			mu.Lock()
			defer mu.Unlock()
			select {
			case <-stopping:
				assert.Zero(t, status, "%q: %v", r.instructions, err)
				assert.True(t, neverTaken(err), "%q was cut off: %v", r.instructions, err)
			default:
				assert.NoError(t, err, r.instructions)
			}
		})
		time.Sleep(time.Duration(moments.IntN(300)) * time.Millisecond)
		mu.Lock()
		close(stopping)
		mu.Unlock()
		duration := s.stop() // checks the exit status
		wait()
		assert.LessOrEqual(t, duration, stopLimit, "SIGTERM ends the server within 10 s")
		took = append(took, duration)
		s.countRuns(runs)
	}

	s := p.startIn(t, dir, nil, "-config", config)
	s.secrets = secrets()
	for _, c := range l.clients {
		if r := c.pending; r != nil {
			_, err := c.send(t.Context(), s.url, r)
			assert.NoError(t, err, "sent again after the last stop")
		}
	}
	l.awaitIdle(s)
	history, unanswered := l.check(s)
	s.stop()
	s.countRuns(runs)
	assert.Zero(t, l.checkRuns(history, runs), "a server that stopped in peace has left work half done")
	for _, e := range history {
		if r := l.sent[e.Instructions]; r != nil && r.id == "" {
			assert.NotSame(t, fresh, r.from.http, "%q is in the history, and was answered by a closed connection", e.Instructions)
		}
		assert.Equal(t, 1, e.Attempts, "event %s", e.ID)
	}
	t.Logf("%d stops; %d requests with a 202, %d events of requests without an answer, %d in the history; slowest end: %v",
		stops, l.acknowledged.Load(), unanswered, len(history), slices.Max(took))
}

// neverTaken says whether a request failed before the first byte of an answer, by a
// connection that was refused or closed.
func neverTaken(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF) ||
		errors.Is(err, net.ErrClosed) ||
		strings.HasSuffix(err.Error(), "http: server closed idle connection") // which net/http does not export
}
