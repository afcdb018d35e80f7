package triggertest_test

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/trigger"
)

// remembered is what an organization had when it was marked.
type remembered struct {
	events []trigger.Event
	keys   []trigger.APIKey
	stats  trigger.Stats
	record trigger.Organization
}

func (r *remembered) event(id uuid.UUID) (e trigger.Event, err error) {
	for _, e := range r.events {
		if e.ID == id {
			return e, nil
		}
	}
	return e, trigger.ErrNotFound
}

// afterMark changes a mutant when an organization has been marked.
func afterMark(change func(*mutant, *remembered)) func(*mutant) {
	return func(m *mutant) {
		m.markDeleted = func(ctx context.Context, org string, at time.Time) (time.Time, error) {
			var r remembered
			page, _ := m.Trigger.ListEvents(ctx, org, trigger.EventQuery{Limit: 1000})
			keys, _ := m.Trigger.ListKeys(ctx, org, trigger.KeyQuery{Limit: 1000})
			r.events, r.keys = page.Items, keys.Items
			r.stats, _ = m.Trigger.Stats(ctx, org, 100)
			r.record, _ = m.Trigger.Setup(ctx, org)
			since, err := m.Trigger.MarkDeleted(ctx, org, at)
			if len(r.events)+len(r.keys)+len(r.record.Collections) > 0 {
				change(m, &r)
			}
			return since, err
		}
	}
}

// lateCreate stores an event that came too late in an attic, where its ID is taken, and
// adds its job.
func (m *mutant) lateCreate(ctx context.Context, e trigger.Event, j *mortise.Job) (trigger.Event, bool, error) {
	e.Organization += " (late)"
	_, _, err := m.Trigger.CreateEvent(ctx, e, time.Time{})
	if err == nil && j != nil {
		err = m.jobs.Add(ctx, *j)
	}
	return e, true, err
}

// lateMark marks when all that race with it have looked for the mark.
func lateMark(m *mutant) func(context.Context, string, time.Time) (time.Time, error) {
	return func(ctx context.Context, org string, at time.Time) (time.Time, error) {
		conformance.Seam()
		return m.Trigger.MarkDeleted(ctx, org, at)
	}
}

const hidesEvents, hidesKeys, hidesOrganization = "deletion/hides-events", "deletion/hides-keys", "deletion/hides-organization"

// deletionMutants are wrong about marks.
var deletionMutants = []broken{
	{name: "gets events of a deleted organization", breaks: []string{hidesEvents}, mutate: afterMark(func(m *mutant, r *remembered) {
		m.get = func(_ context.Context, _ string, id uuid.UUID) (trigger.Event, error) { return r.event(id) }
	})},
	{name: "updates events of a deleted organization", breaks: []string{hidesEvents}, mutate: afterMark(func(m *mutant, r *remembered) {
		m.update = func(_ context.Context, _ string, id uuid.UUID, f func(*trigger.Event) error) error {
			e, _ := r.event(id)
			return f(&e)
		}
	})},
	{name: "ends events of a deleted organization", breaks: []string{hidesEvents}, mutate: afterMark(func(m *mutant, r *remembered) {
		m.updateAndRemove = func(_ context.Context, _ string, id uuid.UUID, f func(*trigger.Event) error, _ mortise.Lease, _ bool) error {
			e, _ := r.event(id)
			_ = f(&e)
			return trigger.ErrNotFound
		}
	})},
	{name: "lists events of a deleted organization", breaks: []string{hidesEvents}, mutate: afterMark(func(m *mutant, r *remembered) {
		m.list = func(_ context.Context, _ string, q trigger.EventQuery) (page mortise.Page[trigger.Event], _ error) {
			for _, e := range r.events {
				if q.Matches(&e) && q.IdempotencyKey == "" {
					page.Items = append(page.Items, e)
				}
			}
			return page, nil
		}
	})},
	{name: "finds idempotency keys of a deleted organization", breaks: []string{hidesEvents}, mutate: afterMark(func(m *mutant, r *remembered) {
		m.list = func(_ context.Context, _ string, q trigger.EventQuery) (page mortise.Page[trigger.Event], _ error) {
			for _, e := range r.events {
				if q.IdempotencyKey != "" && q.Matches(&e) {
					page.Items = append(page.Items, e)
				}
			}
			return page, nil
		}
	})},
	{name: "sweeps events of a deleted organization", breaks: []string{hidesEvents}, mutate: afterMark(func(m *mutant, r *remembered) {
		m.unqueued = func(context.Context, time.Time, int) ([]trigger.Event, error) { return r.events[:1], nil }
	})},
	{name: "looks for lost jobs of a deleted organization", breaks: []string{hidesEvents}, mutate: afterMark(func(m *mutant, r *remembered) {
		m.stale = func(context.Context, time.Time, time.Time, int) ([]trigger.Event, error) { return r.events[:1], nil }
	})},
	{name: "counts events of a deleted organization", breaks: []string{hidesEvents}, mutate: afterMark(func(m *mutant, r *remembered) {
		m.stats = func(context.Context, string, int) (trigger.Stats, error) { return r.stats, nil }
	})},
	{name: "answers with an event of a deleted organization", breaks: []string{"deletion/refuses-events"}, mutate: afterMark(
		func(m *mutant, r *remembered) {
			m.create = func(ctx context.Context, e trigger.Event, since time.Time) (trigger.Event, bool, error) {
				if earlier, err := r.event(e.ID); err == nil {
					return earlier, false, nil
				}
				return m.Trigger.CreateEvent(ctx, e, since)
			}
		})},
	{name: "stores events in a deleted organization", breaks: []string{"deletion/refuses-events", "deletion/mark-stays", "deletion/durable"},
		mutate: func(m *mutant) {
			m.create = func(ctx context.Context, e trigger.Event, since time.Time) (trigger.Event, bool, error) {
				stored, created, err := m.Trigger.CreateEvent(ctx, e, since)
				if errors.Is(err, trigger.ErrDeleted) {
					return m.lateCreate(ctx, e, nil)
				}
				return stored, created, err
			}
		}},
	{name: "stores what it refuses", breaks: []string{"deletion/refuses-events"}, mutate: func(m *mutant) {
		m.createAndAdd = func(ctx context.Context, e trigger.Event, since time.Time, j mortise.Job) (trigger.Event, bool, error) {
			stored, created, err := m.Trigger.CreateEventAndAdd(ctx, e, since, j)
			if errors.Is(err, trigger.ErrDeleted) {
				_, _, _ = m.lateCreate(ctx, e, nil)
			}
			return stored, created, err
		}
	}},
	{name: "adds jobs in a deleted organization", breaks: []string{"deletion/adds-no-job"}, mutate: func(m *mutant) {
		m.createAndAdd = func(ctx context.Context, e trigger.Event, since time.Time, j mortise.Job) (trigger.Event, bool, error) {
			stored, created, err := m.Trigger.CreateEventAndAdd(ctx, e, since, j)
			if err != nil {
				_ = m.jobs.Add(ctx, j)
			}
			return stored, created, err
		}
	}},
	{name: "verifies keys of a deleted organization", breaks: []string{hidesKeys}, mutate: afterMark(func(m *mutant, r *remembered) {
		m.keyByDigest = func(context.Context, [32]byte) (trigger.APIKey, error) { return r.keys[0], nil }
	})},
	{name: "updates keys of a deleted organization", breaks: []string{hidesKeys}, mutate: afterMark(func(m *mutant, r *remembered) {
		m.updateKey = func(_ context.Context, _ string, _ uuid.UUID, f func(*trigger.APIKey) error) error {
			return f(&r.keys[0])
		}
	})},
	{name: "lists keys of a deleted organization", breaks: []string{hidesKeys}, mutate: afterMark(func(m *mutant, r *remembered) {
		m.listKeys = func(_ context.Context, _ string, q trigger.KeyQuery) (mortise.Page[trigger.APIKey], error) {
			if q.After.IsZero() {
				return mortise.Page[trigger.APIKey]{}, nil
			}
			return mortise.Page[trigger.APIKey]{Items: r.keys}, nil
		}
	})},
	{name: "says that a key of a deleted organization exists", breaks: []string{"deletion/refuses-keys"}, mutate: afterMark(
		func(m *mutant, r *remembered) {
			m.createKey = func(ctx context.Context, k trigger.APIKey) error {
				if k.ID == r.keys[0].ID {
					return trigger.ErrExists
				}
				return m.Trigger.CreateKey(ctx, k)
			}
		})},
	{name: "stores keys that it refuses", breaks: []string{"deletion/refuses-keys"}, mutate: func(m *mutant) {
		m.createKey = func(ctx context.Context, k trigger.APIKey) error {
			err := m.Trigger.CreateKey(ctx, k)
			if errors.Is(err, trigger.ErrDeleted) {
				k.Organization += " (late)"
				_ = m.Trigger.CreateKey(ctx, k)
			}
			return err
		}
	}},
	{name: "reads a deleted organization", breaks: []string{hidesOrganization}, mutate: afterMark(func(m *mutant, r *remembered) {
		m.organization = func(context.Context, string) (trigger.Organization, error) { return r.record, nil }
	})},
	{name: "updates a deleted organization", breaks: []string{hidesOrganization}, mutate: afterMark(func(m *mutant, r *remembered) {
		m.updateOrganization = func(_ context.Context, _ string, f func(*trigger.Organization) error) error {
			_ = f(&r.record)
			return trigger.ErrDeleted
		}
	})},
	{name: "makes a deleted organization anew", breaks: []string{hidesOrganization}, mutate: func(m *mutant) {
		m.updateOrganization = func(ctx context.Context, org string, f func(*trigger.Organization) error) error {
			err := m.Trigger.UpdateOrganization(ctx, org, f)
			if errors.Is(err, trigger.ErrDeleted) {
				return nil
			}
			return err
		}
	}},
	{name: "marks again", breaks: []string{"deletion/first-time-stays", "deletion/durable"}, mutate: func(m *mutant) {
		m.markDeleted = func(ctx context.Context, org string, at time.Time) (time.Time, error) {
			_, err := m.Trigger.MarkDeleted(ctx, org, at)
			return at, err
		}
	}},
	{name: "marks by the second", breaks: []string{"deletion/first-time-stays"}, mutate: func(m *mutant) {
		m.markDeleted = func(ctx context.Context, org string, at time.Time) (time.Time, error) {
			return m.Trigger.MarkDeleted(ctx, org, at.Truncate(time.Second))
		}
	}},
	{name: "marks only what it knows", breaks: []string{"deletion/first-time-stays", "deletion/adds-no-job"}, mutate: func(m *mutant) {
		m.markDeleted = func(ctx context.Context, org string, at time.Time) (time.Time, error) {
			if page, _ := m.Trigger.ListEvents(ctx, org, trigger.EventQuery{Limit: 1}); len(page.Items) == 0 {
				return time.Time{}, nil
			}
			return m.Trigger.MarkDeleted(ctx, org, at)
		}
	}},
	{name: "marks when it removes", breaks: []string{"deletion/not-marked"}, mutate: func(m *mutant) {
		m.removeDeleted = func(ctx context.Context, org string, limit int) (bool, error) {
			if limit > 0 {
				_, _ = m.Trigger.MarkDeleted(ctx, org, time.Unix(0, 0).UTC())
			}
			return m.Trigger.RemoveDeleted(ctx, org, limit)
		}
	}},
	{name: "refuses a limit of 0", breaks: []string{"deletion/not-marked", "deletion/steps-bounded"}, mutate: func(m *mutant) {
		m.removeDeleted = func(ctx context.Context, org string, limit int) (bool, error) {
			if limit == 0 {
				return false, trigger.ErrNotFound
			}
			return m.Trigger.RemoveDeleted(ctx, org, limit)
		}
	}},
	{name: "marks whoever has left", breaks: []string{"deletion/ended-context"}, mutate: func(m *mutant) {
		m.markDeleted = func(ctx context.Context, org string, at time.Time) (time.Time, error) {
			return m.Trigger.MarkDeleted(context.WithoutCancel(ctx), org, at)
		}
	}},
	{name: "steps for whoever has left", breaks: []string{"deletion/ended-context"}, mutate: func(m *mutant) {
		m.removeDeleted = func(ctx context.Context, org string, limit int) (bool, error) {
			return m.Trigger.RemoveDeleted(context.WithoutCancel(ctx), org, limit)
		}
	}},
}

// deletionStepMutants are wrong about what is removed.
var deletionStepMutants = []broken{
	{name: "removes everything at once", breaks: []string{"deletion/steps-bounded", "deletion/removes-keys", "deletion/removes-jobs"},
		mutate: func(m *mutant) {
			m.removeDeleted = func(ctx context.Context, org string, limit int) (bool, error) {
				return m.Trigger.RemoveDeleted(ctx, org, 1000*limit)
			}
		}},
	{name: "removes one with a limit of 0", breaks: []string{"deletion/steps-bounded"}, mutate: func(m *mutant) {
		m.removeDeleted = func(ctx context.Context, org string, limit int) (bool, error) {
			return m.Trigger.RemoveDeleted(ctx, org, max(limit, 1))
		}
	}},
	{name: "ends too early", breaks: []string{
		"deletion/steps-bounded", "deletion/removes-events", "deletion/removes-keys", "deletion/removes-jobs", "deletion/by-many",
	}, mutate: func(m *mutant) {
		m.removeDeleted = func(ctx context.Context, org string, limit int) (bool, error) {
			_, err := m.Trigger.RemoveDeleted(ctx, org, limit)
			return false, err
		}
	}},
	{name: "never ends", breaks: []string{"deletion/steps-bounded", "deletion/removes-events", "deletion/mark-stays", "deletion/durable"},
		mutate: func(m *mutant) {
			m.removeDeleted = func(ctx context.Context, org string, limit int) (bool, error) {
				_, err := m.Trigger.RemoveDeleted(ctx, org, limit)
				return true, err
			}
		}},
	{name: "leaves the jobs of deleted events", breaks: []string{"deletion/removes-jobs"}, mutate: func(m *mutant) {
		m.removeDeleted = func(ctx context.Context, org string, limit int) (bool, error) {
			more, err := m.Trigger.RemoveDeleted(ctx, org, limit)
			if err == nil && !more {
				for _, l := range m.leases { // of those that were claimed, the first of them held
					_ = m.jobs.Add(ctx, l.Job)
				}
			}
			return more, err
		}
	}},
	{name: "deletes by the beginning of a name", breaks: []string{"deletion/others-alone"}, mutate: func(m *mutant) {
		m.get = func(ctx context.Context, org string, id uuid.UUID) (trigger.Event, error) {
			for n := range org {
				if _, err := m.Trigger.RemoveDeleted(ctx, org[:n], 0); n > 0 && err == nil {
					return trigger.Event{}, trigger.ErrNotFound
				}
			}
			return m.Trigger.Event(ctx, org, id)
		}
	}},
	{name: "deletes whatever the case", breaks: []string{"deletion/others-alone"}, mutate: func(m *mutant) {
		m.markDeleted = func(ctx context.Context, org string, at time.Time) (time.Time, error) {
			_, _ = m.Trigger.MarkDeleted(ctx, strings.ToUpper(org), at)
			return m.Trigger.MarkDeleted(ctx, org, at)
		}
	}},
	{name: "removes jobs of other organizations with the same ID", breaks: []string{"deletion/others-alone"}, mutate: func(m *mutant) {
		m.removeDeleted = func(ctx context.Context, org string, limit int) (bool, error) {
			m.mu.Lock()
			for _, j := range m.added {
				if j.Organization != org {
					_ = m.jobs.Cancel(ctx, j)
				}
			}
			m.mu.Unlock()
			return m.Trigger.RemoveDeleted(ctx, org, limit)
		}
	}},
	{name: "forgets the mark at the end", breaks: []string{"deletion/mark-stays", "deletion/first-time-stays", "deletion/durable"},
		mutate: func(m *mutant) {
			gone := make(map[string]bool)
			m.removeDeleted = func(ctx context.Context, org string, limit int) (bool, error) {
				more, err := m.Trigger.RemoveDeleted(ctx, org, limit)
				if gone[org] {
					return false, trigger.ErrNotFound
				}
				gone[org] = err == nil && !more && limit > 0
				return more, err
			}
			m.markDeleted = func(ctx context.Context, org string, at time.Time) (time.Time, error) {
				since, err := m.Trigger.MarkDeleted(ctx, org, at)
				if gone[org] {
					return at, err
				}
				return since, err
			}
			m.create = func(ctx context.Context, e trigger.Event, since time.Time) (trigger.Event, bool, error) {
				if gone[e.Organization] {
					return m.lateCreate(ctx, e, nil)
				}
				return m.Trigger.CreateEvent(ctx, e, since)
			}
		}},
	{name: "fails beside another step", breaks: []string{"deletion/by-many"}, mutate: func(m *mutant) {
		busy := make(chan struct{}, 1)
		m.removeDeleted = func(ctx context.Context, org string, limit int) (bool, error) {
			select {
			case busy <- struct{}{}:
				defer func() { <-busy }()
			default:
				return false, errors.New("somebody else is at it")
			}
			conformance.Seam()
			return m.Trigger.RemoveDeleted(ctx, org, limit)
		}
	}},
	{name: "looks for the mark before it stores", breaks: []string{"deletion/create-race"}, mutate: func(m *mutant) {
		m.markDeleted = lateMark(m)
		m.create = func(ctx context.Context, e trigger.Event, since time.Time) (trigger.Event, bool, error) {
			_, unmarked := m.Trigger.RemoveDeleted(ctx, e.Organization, 0)
			conformance.Seam() // all have looked
			conformance.Seam() // and the mark is made
			stored, created, err := m.Trigger.CreateEvent(ctx, e, since)
			if errors.Is(err, trigger.ErrDeleted) && unmarked != nil {
				return m.lateCreate(ctx, e, nil)
			}
			return stored, created, err
		}
	}},
	{name: "looks for the mark before it stores event and job", breaks: []string{"deletion/create-race"}, mutate: func(m *mutant) {
		m.markDeleted = lateMark(m)
		m.createAndAdd = func(ctx context.Context, e trigger.Event, since time.Time, j mortise.Job) (trigger.Event, bool, error) {
			_, unmarked := m.Trigger.RemoveDeleted(ctx, e.Organization, 0)
			conformance.Seam() // all have looked
			conformance.Seam() // and the mark is made
			stored, created, err := m.Trigger.CreateEventAndAdd(ctx, e, since, j)
			if errors.Is(err, trigger.ErrDeleted) && unmarked != nil {
				return m.lateCreate(ctx, e, &j)
			}
			return stored, created, err
		}
	}},
}
