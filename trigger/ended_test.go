package trigger_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// mail is a kind of the host's.
const mail = "mail"

// mailOf is an OnEnd: the ID of the job says how the event has ended.
func mailOf(e trigger.Event) []mortise.Job {
	return []mortise.Job{{Kind: mail, Organization: e.Organization, ID: fmt.Sprintf("%s-%s-%d", e.Instructions, e.Status, e.Generation)}}
}

// mailed takes all jobs of the kind.
func mailed(t *testing.T, f *triggertest.Fake) (ids []string) {
	t.Helper()
	for {
		found, err := f.Backend().Queue.(mortise.StepQueue).ConsumeOne(t.Context(), []string{mail}, func(_ context.Context, d mortise.Delivery) mortise.Verdict {
			ids = append(ids, d.Job.ID)
			return mortise.Verdict{Kind: mortise.VerdictDone}
		})
		require.NoError(t, err)
		if !found {
			return ids
		}
	}
}

// endingAsSaid ends an event as its instructions say.
func endingAsSaid(_ context.Context, e trigger.Event) (trigger.Outcome, error) {
	switch e.Instructions {
	case "fail":
		return trigger.Outcome{}, trigger.Permanent(errWork)
	case "retry":
		return trigger.Outcome{}, trigger.RetryAfter(errWork, time.Minute)
	}
	return trigger.Outcome{}, nil
}

// TestOnEnd: a job of the host's tells of each end, and of nothing else.
func TestOnEnd(t *testing.T) {
	for _, separate := range []bool{false, true} {
		f := triggertest.New(t, &triggertest.Options{SeparateQueue: separate, Processor: endingAsSaid,
			Worker: trigger.WorkerOptions{MaxAttempts: 2}, Service: trigger.Options{OnEnd: mailOf}})
		for _, instructions := range []string{"complete", "fail", "retry"} {
			submit(t, f.Service, instructions)
		}
		waits, err := f.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "cancel", NotBefore: f.Now().Add(time.Hour)})
		require.NoError(t, err)
		f.Drain(t.Context())
		assert.ElementsMatch(t, []string{"complete-completed-0", "fail-failed-0"}, mailed(t, f))
		_, err = f.Cancel(t.Context(), "acme", "", waits.ID)
		require.NoError(t, err)
		assert.Equal(t, []string{"cancel-cancelled-0"}, mailed(t, f))
		_, err = f.Retry(t.Context(), "acme", "", waits.ID)
		require.NoError(t, err)
		f.Advance(time.Minute)
		f.Drain(t.Context())
		assert.ElementsMatch(t, []string{"retry-failed-0", "cancel-completed-1"}, mailed(t, f))
		for _, e := range f.History() {
			assert.Zero(t, e.WakeAt, e.Instructions)
		}
		f.Advance(time.Hour)
		f.Drain(t.Context())
		assert.Empty(t, mailed(t, f))
	}
}

// TestOnEndOfAnEventThatKillsItsWorkers: it is given up when its last attempt has not reported.
func TestOnEndOfAnEventThatKillsItsWorkers(t *testing.T) {
	for _, separate := range []bool{false, true} {
		f := triggertest.New(t, &triggertest.Options{SeparateQueue: separate, Processor: endingAsSaid, Service: trigger.Options{OnEnd: mailOf}})
		e := submit(t, f.Service, "kill")
		require.NoError(t, f.Backend().Store.UpdateEvent(t.Context(), "acme", e.ID, func(e *trigger.Event) error {
			e.Status, e.Attempts = trigger.StatusProcessing, 10
			return nil
		}))
		f.Drain(t.Context())
		assert.Equal(t, []string{"kill-failed-0"}, mailed(t, f))
	}
}

// TestOnEndWhileTheQueueIsAway: a sweeper tells of the end later; the event is kept until then,
// and is told before it is sent back.
func TestOnEndWhileTheQueueIsAway(t *testing.T) {
	f := triggertest.New(t, &triggertest.Options{SeparateQueue: true, Processor: endingAsSaid, Service: trigger.Options{OnEnd: mailOf}})
	waits := func() trigger.Event {
		e, err := f.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "x", NotBefore: f.Now().Add(time.Hour)})
		require.NoError(t, err)
		return e
	}
	swept, retried := waits(), waits()
	heal := f.Break(triggertest.QueuePart)
	for _, e := range []trigger.Event{swept, retried} {
		_, err := f.Cancel(t.Context(), "acme", "", e.ID)
		require.NoError(t, err)
	}
	f.Advance(48 * time.Hour)
	f.Drain(t.Context())
	assert.True(t, get(t, f.Service, swept.ID).WakeAt.After(f.Now()), "an end that the queue refuses goes behind the others")
	n, err := f.Prune(t.Context(), trigger.StatusCancelled, f.Now())
	require.NoError(t, err)
	assert.Zero(t, n, "events that are not told are not pruned")
	_, err = f.Retry(t.Context(), "acme", "", retried.ID)
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	heal()
	require.ErrorIs(t, f.InTx(t.Context(), func(ctx context.Context) error {
		_, err := f.Retry(ctx, "acme", "", retried.ID)
		return err
	}), mortise.ErrUnavailable, "nothing is queued in a transaction of the host's")
	assert.Empty(t, mailed(t, f))
	_, err = f.Retry(t.Context(), "acme", "", retried.ID)
	require.NoError(t, err)
	assert.Equal(t, []string{"x-cancelled-0"}, mailed(t, f))
	f.Advance(48 * time.Hour) // each wait is as long as the time since the end
	f.Advance(time.Minute)
	f.Drain(t.Context())
	assert.ElementsMatch(t, []string{"x-cancelled-0", "x-completed-1"}, mailed(t, f))
	n, err = f.Prune(t.Context(), trigger.StatusCancelled, f.Now())
	require.NoError(t, err)
	assert.Equal(t, 1, n)
}

// TestOnEndInTx: the end of an event that a host cancels in a transaction of its own is told
// after the commit, and not after a rollback.
func TestOnEndInTx(t *testing.T) {
	for _, separate := range []bool{false, true} {
		f := triggertest.New(t, &triggertest.Options{SeparateQueue: separate, Processor: endingAsSaid, Service: trigger.Options{OnEnd: mailOf}})
		e := submit(t, f.Service, "x")
		cancel := func(ctx context.Context) error {
			_, err := f.Cancel(ctx, "acme", "", e.ID)
			return err
		}
		require.ErrorIs(t, f.InTx(t.Context(), func(ctx context.Context) error {
			require.NoError(t, cancel(ctx))
			return errWork
		}), errWork)
		assert.Empty(t, mailed(t, f))
		require.NoError(t, f.InTx(t.Context(), cancel))
		assert.Equal(t, []string{"x-cancelled-0"}, mailed(t, f))
		assert.Zero(t, get(t, f.Service, e.ID).WakeAt)
	}
}

// TestOnEndThatIsWrong: a panic and a job that is not valid hold up no end, and other jobs come.
func TestOnEndThatIsWrong(t *testing.T) {
	var log bytes.Buffer
	f := triggertest.New(t, &triggertest.Options{Service: trigger.Options{
		Env: mortise.Env{Logger: slog.New(slog.NewTextHandler(&log, nil))},
		OnEnd: func(e trigger.Event) (jobs []mortise.Job) {
			if e.Instructions == "panic" {
				panic("ouch")
			}
			jobs = append(jobs, mortise.Job{Kind: mail}, e.Job())
			for i := range 200 {
				jobs = append(jobs, mortise.Job{Kind: mail, Organization: "acme", ID: fmt.Sprint(i)})
			}
			return jobs
		},
	}})
	panics := submit(t, f.Service, "panic")
	wrong := submit(t, f.Service, "wrong")
	f.Drain(t.Context())
	for _, e := range []trigger.Event{panics, wrong} {
		assert.Equal(t, trigger.StatusCompleted, get(t, f.Service, e.ID).Status)
	}
	assert.Len(t, mailed(t, f), 98, "100 without the two that are not valid")
	assert.Equal(t, 1, strings.Count(log.String(), "hook=OnEnd"))
	assert.Equal(t, 2, strings.Count(log.String(), "a job of OnEnd is left out"))
	assert.Equal(t, 1, strings.Count(log.String(), "OnEnd returned more jobs"))
}
