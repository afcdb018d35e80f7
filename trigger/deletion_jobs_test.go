package trigger_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

// lateQueue lets something happen just before a job is added.
type lateQueue struct {
	*mortise.LeaseQueue
	before func()
}

func (q *lateQueue) Enqueue(ctx context.Context, j mortise.Job) error {
	if run := q.before; run != nil {
		q.before = nil
		run()
	}
	return q.LeaseQueue.Enqueue(ctx, j)
}

// TestJobsBesideDeletion: who adds a job while the organization is deleted leaves none
// behind, whether the queue shares the store's database or not.
func TestJobsBesideDeletion(t *testing.T) {
	for _, separate := range []bool{false, true} {
		for name, add := range map[string]func(t *testing.T, s *trigger.Service, e trigger.Event){
			"a retry": func(t *testing.T, s *trigger.Service, e trigger.Event) {
				_, err := s.Retry(t.Context(), "acme", "", e.ID)
				require.NoError(t, err, "it came before the mark")
			},
			"a submission": func(t *testing.T, s *trigger.Service, _ trigger.Event) {
				if separate { // else it is one transaction
					_, err := s.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "b"})
					require.NoError(t, err, "it came before the mark")
				}
			},
			"a sweep": func(t *testing.T, s *trigger.Service, _ trigger.Event) {
				w, err := trigger.NewSweeper(s, nil)
				require.NoError(t, err)
				_, err = w.RunOnce(t.Context())
				require.NoError(t, err)
			},
		} {
			t.Run(fmt.Sprintf("%s, separate %v", name, separate), func(t *testing.T) {
				db, err := memory.Open(t.Context(), nil)
				require.NoError(t, err)
				jobs := db
				if separate {
					jobs, err = memory.Open(t.Context(), nil)
					require.NoError(t, err)
				}
				q := &lateQueue{LeaseQueue: jobs.Queue(nil)}
				s, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: q}, &trigger.Options{Logger: slog.New(slog.DiscardHandler)})
				require.NoError(t, err)
				now := time.Now()
				for status, id := range map[trigger.Status]uuid.UUID{trigger.StatusFailed: {1}, trigger.StatusReceived: {2}, trigger.StatusProcessing: {3}} {
					e := trigger.Event{ID: id, Organization: "acme", Status: status, Source: "api", Instructions: "a", SubmittedAt: now.Add(-time.Hour), DueAt: now.Add(-48 * time.Hour)}
					switch status {
					case trigger.StatusReceived: // without a job for long
						e.UnqueuedSince = now.Add(-time.Hour)
					case trigger.StatusProcessing: // with one that may be lost
						e.CheckedAt = now.Add(-48 * time.Hour)
					}
					_, _, err := db.Trigger().Store.CreateEvent(t.Context(), e, time.Time{})
					require.NoError(t, err)
				}
				e, err := s.Event(t.Context(), "acme", uuid.UUID{1})
				require.NoError(t, err)
				happened := separate || name != "a submission"
				q.before = func() { deleteAll(t, s, "acme", "") }
				add(t, s, e)
				require.Equal(t, happened, q.before == nil)
				left, err := jobs.Jobs().Claim(t.Context(), mortise.Claim{Token: uuid.New(), Kinds: []string{trigger.JobKind}, Limit: 10, TTL: time.Minute})
				require.NoError(t, err)
				require.Empty(t, left)
			})
		}
	}
}

// TestJobsOfDeletedElsewhere: a queue that is not in the store's database still has the
// jobs of a deleted organization. Each of them comes once.
func TestJobsOfDeletedElsewhere(t *testing.T) {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	var later time.Duration
	elsewhere, err := memory.Open(t.Context(), &memory.Options{Now: func() time.Time { return time.Now().Add(later) }})
	require.NoError(t, err)
	quiet := &trigger.Options{Logger: slog.New(slog.DiscardHandler)}
	s, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: elsewhere.Queue(nil)}, quiet)
	require.NoError(t, err)
	w, err := trigger.NewWorker(s, trigger.ProcessorFunc(func(context.Context, trigger.Event) (trigger.Outcome, error) {
		t.Error("an attempt at an event that is gone")
		return trigger.Outcome{}, nil
	}), nil)
	require.NoError(t, err)
	const jobs = 5
	for range jobs {
		submit(t, s, "a")
	}
	deleteAll(t, s, "acme", "")
	for range jobs {
		took, err := w.RunOnce(t.Context())
		require.NoError(t, err)
		require.True(t, took)
	}
	later = time.Hour
	took, err := w.RunOnce(t.Context())
	require.NoError(t, err)
	require.False(t, took, "a job that came again")
}
