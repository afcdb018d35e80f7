package trigger_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// lateQueue lets something happen just before a job is added.
type lateQueue struct {
	*leases.Queue
	before func()
}

func (q *lateQueue) Enqueue(ctx context.Context, j mortise.Job) error {
	if run := q.before; run != nil {
		q.before = nil
		run()
	}
	return q.Queue.Enqueue(ctx, j)
}

// TestJobsBesideDeletion: a call that adds a job to a queue elsewhere while the organization is
// deleted leaves none behind.
func TestJobsBesideDeletion(t *testing.T) {
	for name, add := range map[string]func(t *testing.T, s *trigger.Service, e trigger.Event){
		"a retry": func(t *testing.T, s *trigger.Service, e trigger.Event) {
			_, err := s.Retry(t.Context(), "acme", "", e.ID)
			require.NoError(t, err, "it came before the mark")
		},
		"a submission": func(t *testing.T, s *trigger.Service, _ trigger.Event) {
			_, err := s.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "b"})
			require.NoError(t, err, "it came before the mark")
		},
		"a sweep": func(t *testing.T, s *trigger.Service, _ trigger.Event) {
			w, err := trigger.NewSweeper(s, nil)
			require.NoError(t, err)
			_, err = w.RunOnce(t.Context())
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := memory.Open(t.Context(), nil)
			require.NoError(t, err)
			jobs, err := memory.Open(t.Context(), nil)
			require.NoError(t, err)
			q := &lateQueue{Queue: jobs.Queue(nil)}
			s, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: q}, &trigger.Options{Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)}})
			require.NoError(t, err)
			now := time.Now()
			for status, id := range map[trigger.Status]uuid.UUID{trigger.StatusFailed: {1}, trigger.StatusReceived: {2}, trigger.StatusProcessing: {3}} {
				e := trigger.Event{ID: id, Organization: "acme", Status: status, Source: "api", Instructions: "a", SubmittedAt: now.Add(-time.Hour), DueAt: now.Add(-48 * time.Hour)}
				switch status {
				case trigger.StatusReceived: // without a job for long
					e.WakeAt = now.Add(-time.Hour)
				case trigger.StatusProcessing: // with one that may be lost
					e.WakeAt = now.Add(-48 * time.Hour)
				}
				_, _, err := db.Trigger().Store.CreateEvent(t.Context(), e, time.Time{})
				require.NoError(t, err)
			}
			e, err := s.Event(t.Context(), "acme", uuid.UUID{1})
			require.NoError(t, err)
			q.before = func() { deleteAll(t, s, "acme", "") }
			add(t, s, e)
			require.Nil(t, q.before)
			left, err := jobs.Jobs().Claim(t.Context(), mortise.Claim{Token: uuid.New(), Kinds: []string{trigger.JobKind}, Limit: 10, TTL: time.Minute})
			require.NoError(t, err)
			require.Empty(t, left)
		})
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
	quiet := &trigger.Options{Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)}}
	s, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: elsewhere.Queue(nil)}, quiet)
	require.NoError(t, err)
	w, err := trigger.NewWorker(s, func(context.Context, trigger.Event) (trigger.Outcome, error) {
		t.Error("an attempt at an event that is gone")
		return trigger.Outcome{}, nil
	}, nil)
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

// beforeStore lets something happen just before a creation.
type beforeStore struct {
	*memory.Trigger
	before func()
}

func (b *beforeStore) once() {
	if run := b.before; run != nil {
		b.before = nil
		run()
	}
}

func (b *beforeStore) CreateEventAndAdd(
	ctx context.Context, e trigger.Event, keySince time.Time, j mortise.Job,
) (trigger.Event, bool, error) {
	b.once()
	return b.Trigger.CreateEventAndAdd(ctx, e, keySince, j)
}

// beforeKeys is the same for keys.
type beforeKeys struct {
	trigger.APIKeys
	store *beforeStore
}

func (b beforeKeys) CreateKey(ctx context.Context, k trigger.APIKey) error {
	b.store.once()
	return b.APIKeys.CreateKey(ctx, k)
}

// TestCreationLosesToDeletion: what is made just after the mark is refused, though all
// that was read for it was read before.
func TestCreationLosesToDeletion(t *testing.T) {
	for name, make := range map[string]func(ctx context.Context, s *trigger.Service) error{
		"a submission": func(ctx context.Context, s *trigger.Service) error {
			_, err := s.Submit(ctx, "acme", "", trigger.Submission{Instructions: "a"})
			return err
		},
		"one with a key": func(ctx context.Context, s *trigger.Service) error {
			_, err := s.Submit(ctx, "acme", "", trigger.Submission{Instructions: "a", IdempotencyKey: "k"})
			return err
		},
		"an API key": func(ctx context.Context, s *trigger.Service) error {
			_, _, err := s.IssueKey(ctx, "acme", "", "")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := memory.Open(t.Context(), nil)
			require.NoError(t, err)
			b := db.Trigger()
			store := &beforeStore{Trigger: b.Store.(*memory.Trigger)}
			b.Store, b.Keys, b.Directory = store, beforeKeys{b.Keys, store}, store.Trigger
			b.Queue = sharingBehind{db.Queue(nil), store.Trigger}
			s, err := trigger.New(b, &trigger.Options{Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)}})
			require.NoError(t, err)
			setUp(t, s, "acme")
			store.before = func() { deleteAll(t, s, "acme", "") }
			require.ErrorIs(t, make(t.Context(), s), mortise.ErrDeleted)
			require.Nil(t, store.before)
			page, err := s.ListEvents(t.Context(), "acme", trigger.EventQuery{})
			require.NoError(t, err)
			require.Empty(t, page.Items)
			claim := mortise.Claim{Token: uuid.New(), Kinds: []string{trigger.JobKind}, Limit: 10, TTL: time.Minute}
			left, err := db.Jobs().Claim(t.Context(), claim)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// sharingBehind is a queue that shares the store behind a beforeStore.
type sharingBehind struct {
	*leases.Queue
	store trigger.Store
}

func (q sharingBehind) Shares(any) bool { return q.Queue.Shares(q.store) }

// TestDeleteOrganizationWhateverFails: each call to a backend fails in turn, before or
// after it has done something. The next call of DeleteOrganization goes on, and nothing
// is left.
func TestDeleteOrganizationWhateverFails(t *testing.T) {
	for _, after := range []bool{false, true} {
		for n := 1; ; n++ {
			require.Less(t, n, 50)
			var parts [3]*memory.DB
			for i := range parts {
				var err error
				parts[i], err = memory.Open(t.Context(), nil)
				require.NoError(t, err)
			}
			faults := &triggertest.Faults{}
			store, keys, orgs := parts[0].Trigger(), parts[1].Trigger().Keys, parts[2].Trigger().Store.(trigger.Organizations)
			s, err := trigger.New(trigger.Backend{
				Store: faults.Store(store.Store), Queue: store.Queue, Keys: faults.Keys(keys), Directory: faults.Directory(orgs),
			}, &trigger.Options{Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)}})
			require.NoError(t, err)
			setUp(t, s, "acme")
			submit(t, s, "a")
			_, key, err := s.IssueKey(t.Context(), "acme", "", "")
			require.NoError(t, err)

			hook := triggertest.On(triggertest.Nth(n), "Store", "APIKeys", "Directory")
			if after {
				faults.After = hook
			} else {
				faults.Before = hook
			}
			failed := 0
			for more := true; more; {
				if more, err = s.DeleteOrganization(t.Context(), "acme", ""); err != nil {
					require.ErrorIs(t, err, mortise.ErrUnavailable)
					failed++
					more = true
				}
			}
			faults.Before, faults.After = nil, nil
			require.LessOrEqual(t, failed, 1)
			_, err = s.VerifyKey(t.Context(), key.Reveal())
			require.ErrorIs(t, err, trigger.ErrInvalidKey)
			_, err = orgs.Setup(t.Context(), "acme")
			require.ErrorIs(t, err, mortise.ErrNotFound)
			for _, part := range []trigger.Deletion{store.Store, keys, orgs.(trigger.Deletion)} {
				_, more, err := part.RemoveDeleted(t.Context(), "acme", 1)
				require.NoError(t, err, "it is marked in each part")
				require.False(t, more, "nothing is left")
			}
			if failed == 0 { // there is no n-th call
				require.Greater(t, n, 6)
				break
			}
		}
	}
}
