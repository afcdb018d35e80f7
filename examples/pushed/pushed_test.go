package pushed_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/examples/pushed"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// rig is a host with a push service, on a clock that the test moves.
type rig struct {
	*trigger.Service
	clock   triggertest.Clock
	pushes  *pushService
	sweeper *trigger.Sweeper
	queue   *pushed.Queue
}

func newRig(t *testing.T, process trigger.Processor) *rig {
	t.Helper()
	r := &rig{}
	pushes, stop := newPushService(r.clock.Now)
	t.Cleanup(stop)
	r.pushes = pushes
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	r.queue = &pushed.Queue{URL: pushes.url, Secret: secret}
	r.Service, err = trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: r.queue}, &trigger.Options{
		Env: mortise.Env{Now: r.clock.Now, Logger: slog.New(slog.DiscardHandler)}, LostAfter: 20 * time.Minute,
	})
	require.NoError(t, err)
	worker, err := trigger.NewWorker(r.Service, process, nil)
	require.NoError(t, err)
	pushes.host, err = pushed.NewHandler(secret, map[string]mortise.Handler{trigger.JobKind: worker.Handle})
	require.NoError(t, err)
	r.sweeper, err = trigger.NewSweeper(r.Service, nil)
	require.NoError(t, err)
	return r
}

func (r *rig) submit(t *testing.T) trigger.Event {
	t.Helper()
	e, err := r.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "Describe it."})
	require.NoError(t, err)
	return e
}

// unfinished counts the events that are not completed.
func (r *rig) unfinished(t *testing.T) (n int) {
	t.Helper()
	page, err := r.ListEvents(t.Context(), "acme", trigger.EventQuery{Limit: mortise.MaxPageSize})
	require.NoError(t, err)
	for _, e := range page.Items {
		if e.Status != trigger.StatusCompleted {
			n++
		}
	}
	return n
}

func body(t *testing.T, j mortise.Job) []byte {
	t.Helper()
	b, err := json.Marshal(pushed.Push{Kind: j.Kind, Organization: []byte(j.Organization), ID: j.ID})
	require.NoError(t, err)
	return b
}

func succeed(context.Context, trigger.Event) (trigger.Outcome, error) { return trigger.Outcome{}, nil }

// TestPushedJobsThatAreLost has a push service that loses every tenth job, after it has
// acknowledged it. Every third event needs a second attempt.
func TestPushedJobsThatAreLost(t *testing.T) {
	var begun atomic.Int32
	r := newRig(t, func(_ context.Context, e trigger.Event) (trigger.Outcome, error) {
		if begun.Add(1)%3 == 0 && e.Attempts == 1 {
			return trigger.Outcome{}, errors.New("not this time")
		}
		return trigger.Outcome{}, nil
	})
	r.pushes.loseEvery = 10
	for range 100 {
		r.submit(t)
	}
	for r.pushes.push() > 0 {
		r.clock.Advance(time.Second)
	}
	require.Equal(t, 10, r.pushes.lost)
	require.Equal(t, 10, r.unfinished(t), "whose jobs were lost, while nobody looked")

	for range 10 {
		r.clock.Advance(5 * time.Minute)
		_, err := r.sweeper.RunOnce(t.Context())
		require.NoError(t, err)
		for r.pushes.push() > 0 {
			r.clock.Advance(time.Second)
		}
	}
	require.Zero(t, r.unfinished(t), "every event is processed in the end")
	require.Greater(t, r.pushes.lost, 10, "a job that was added again was lost, too")
}

// TestPushOfAnUnknownJob: its transaction may not be committed yet, so it is asked for
// again for a minute.
func TestPushOfAnUnknownJob(t *testing.T) {
	r := newRig(t, succeed)
	job := body(t, (&trigger.Event{ID: uuid.New(), Organization: "acme"}).Job())
	for deliveries, after := range []string{"1", "2", "4", "8", "16", "32"} {
		answer := post(r.pushes.host, job, deliveries+1, secret)
		require.Equal(t, http.StatusServiceUnavailable, answer.Code)
		require.Equal(t, after, answer.Header().Get("Retry-After"))
	}
	require.Equal(t, http.StatusNoContent, post(r.pushes.host, job, 7, secret).Code)
}

func TestPushesThatAreRefused(t *testing.T) {
	r := newRig(t, succeed)
	e := r.submit(t)
	job := e.Job()
	good, other, bad := body(t, job), job, job
	other.Kind, bad.Organization = "audiosearch", ""
	long := append(bytes.Repeat([]byte(" "), pushed.MaxBody), good...)
	for _, c := range []struct {
		name       string
		body       []byte
		deliveries int
		secret     string
		want       int
	}{
		{"no secret", good, 1, "", http.StatusUnauthorized},
		{"a wrong secret", good, 1, secret + "x", http.StatusUnauthorized},
		{"a long body", long, 1, secret, http.StatusRequestEntityTooLarge},
		{"a long body with a wrong secret", long, 1, "", http.StatusUnauthorized},
		{"no JSON", []byte("job"), 1, secret, http.StatusBadRequest},
		{"another kind", body(t, other), 1, secret, http.StatusBadRequest},
		{"no job", body(t, bad), 1, secret, http.StatusBadRequest},
		{"no deliveries", good, 0, secret, http.StatusBadRequest},
	} {
		require.Equal(t, c.want, post(r.pushes.host, c.body, c.deliveries, c.secret).Code, c.name)
	}
	require.Equal(t, 1, r.unfinished(t))
	require.Zero(t, r.pushes.push(), "the push service's own push is taken")
	require.Zero(t, r.unfinished(t))
	_, err := pushed.NewHandler("short", nil)
	require.Error(t, err)
}

// TestTwoPushesAtOnce: a job that was added twice is pushed a second time while the first
// attempt runs.
func TestTwoPushesAtOnce(t *testing.T) {
	running, goOn := make(chan struct{}), make(chan struct{})
	var attempts atomic.Int32
	r := newRig(t, func(context.Context, trigger.Event) (trigger.Outcome, error) {
		attempts.Add(1)
		close(running)
		<-goOn
		return trigger.Outcome{}, nil
	})
	e := r.submit(t)
	job := body(t, e.Job())
	var first int
	var pushing sync.WaitGroup
	pushing.Go(func() { first = post(r.pushes.host, job, 1, secret).Code })
	<-running
	second := post(r.pushes.host, job, 1, secret)
	close(goOn)
	pushing.Wait()
	require.Equal(t, http.StatusNoContent, first)
	require.Equal(t, http.StatusServiceUnavailable, second.Code)
	after, err := strconv.Atoi(second.Header().Get("Retry-After"))
	require.NoError(t, err)
	require.Greater(t, after, 60, "not before the running attempt must be over")
	require.Equal(t, http.StatusNoContent, post(r.pushes.host, job, 2, secret).Code)
	require.EqualValues(t, 1, attempts.Load())
	require.Zero(t, r.unfinished(t))
}

func TestPushServiceAway(t *testing.T) {
	r := newRig(t, succeed)
	r.queue.Secret = "another one"
	_, err := r.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "Describe it."})
	require.ErrorIs(t, err, trigger.ErrEnqueueFailed)
	require.Error(t, r.queue.Enqueue(t.Context(), mortise.Job{}))
	require.ErrorIs(t, r.queue.Cancel(t.Context(), mortise.Job{}), errors.ErrUnsupported)
	require.ErrorContains(t, r.queue.Consume(t.Context(), mortise.ConsumeOptions{}, nil), "pushed")
}
