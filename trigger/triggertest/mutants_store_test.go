package triggertest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/trigger"
)

// broken is a mutant with the rules that it breaks.
type broken struct {
	name   string
	breaks []string
	mutate func(*mutant)
	reopen func(*testing.T, trigger.Backend) trigger.Backend
}

func mutants() []broken {
	return slices.Concat(createMutants, nameMutants, updateMutants, leaveMutants, listMutants, apiKeyMutants, staleMutants,
		statsMutants, statsAllMutants, deletionMutants, deletionStepMutants, txMutants, otherMutants)
}

var createMutants = []broken{
	{name: "truncates times to seconds", breaks: []string{"store/create-returns-what-it-stored", "store/times-keep-microseconds"}, mutate: func(m *mutant) {
		m.everyEvent(func(e *trigger.Event) { e.SubmittedAt = e.SubmittedAt.Truncate(time.Second) })
	}},
	{name: "returns local times", breaks: []string{"store/times-keep-microseconds"}, mutate: func(m *mutant) {
		m.everyEvent(func(e *trigger.Event) { e.StartedAt = e.StartedAt.In(time.FixedZone("here", 3600)) })
	}},
	{name: "forgets the trace", breaks: []string{"store/create-returns-what-it-stored"}, mutate: func(m *mutant) {
		m.everyEvent(func(e *trigger.Event) { e.Trace = nil })
	}},
	{name: "makes zero times the epoch", breaks: []string{"store/unset-stays-unset"}, mutate: func(m *mutant) {
		m.everyEvent(func(e *trigger.Event) {
			if e.StartedAt.IsZero() {
				e.StartedAt = time.Unix(0, 0).UTC()
			}
		})
	}},
	{name: "makes an empty context nil", breaks: []string{"store/nil-differs-from-empty"}, mutate: func(m *mutant) {
		m.everyEvent(func(e *trigger.Event) {
			if string(e.Context) == "{}" {
				e.Context = nil
			}
		})
	}},
	{name: "makes an empty outcome nil", breaks: []string{"store/nil-differs-from-empty"}, mutate: func(m *mutant) {
		m.everyEvent(func(e *trigger.Event) {
			if e.Outcome != nil && e.Outcome.Data == nil {
				e.Outcome = nil
			}
		})
	}},
	{name: "compacts JSON", breaks: []string{"store/raw-json-keeps-every-byte"}, mutate: func(m *mutant) {
		m.everyEvent(func(e *trigger.Event) {
			var b bytes.Buffer
			if e.Context != nil && json.Compact(&b, e.Context) == nil {
				e.Context = b.Bytes()
			}
		})
	}},
	{name: "cuts strings at U+0000", breaks: []string{"store/strings-keep-every-byte"}, mutate: func(m *mutant) {
		m.everyEvent(func(e *trigger.Event) { e.Instructions, _, _ = strings.Cut(e.Instructions, "\x00") })
	}},
	{name: "trims strings", breaks: []string{"store/strings-keep-every-byte"}, mutate: func(m *mutant) {
		m.everyEvent(func(e *trigger.Event) { e.LastError = strings.TrimSpace(e.LastError) })
	}},
	{name: "returns aliases", breaks: []string{"store/create-copies", "store/get-copies", "store/list-returns-whole-events"}, mutate: func(m *mutant) {
		var mu sync.Mutex
		kept := make(map[uuid.UUID]json.RawMessage)
		m.everyEvent(func(e *trigger.Event) {
			mu.Lock()
			defer mu.Unlock()
			if _, ok := kept[e.ID]; !ok {
				kept[e.ID] = e.Context
			}
			e.Context = kept[e.ID]
		})
	}},
	{name: "stores no new event", breaks: []string{"store/create-concurrent"}, mutate: func(m *mutant) {
		m.create = func(_ context.Context, e trigger.Event, _ time.Time) (trigger.Event, bool, error) {
			return e.Clone(), true, nil
		}
	}},
	{name: "replaces events", breaks: []string{"store/create-same-id"}, mutate: func(m *mutant) {
		m.create = func(ctx context.Context, e trigger.Event, since time.Time) (trigger.Event, bool, error) {
			if err := m.Trigger.UpdateEvent(ctx, e.Organization, e.ID, func(old *trigger.Event) error { *old = e; return nil }); err == nil {
				return e, true, nil
			}
			return m.Trigger.CreateEvent(ctx, e, since)
		}
	}},
	{name: "finds IDs of all organizations", breaks: []string{"store/create-same-id-elsewhere"}, mutate: func(m *mutant) {
		m.create = func(ctx context.Context, e trigger.Event, since time.Time) (trigger.Event, bool, error) {
			for _, org := range []string{"org-a", "org-b"} {
				if old, err := m.Trigger.Event(ctx, org, e.ID); err == nil {
					return old, false, nil
				}
			}
			return m.Trigger.CreateEvent(ctx, e, since)
		}
	}},
	{name: "ignores keySince", breaks: []string{"store/create-key-before-window", "txstore/key-before-window", "store/create-concurrent-old-key"}, mutate: func(m *mutant) {
		m.create = func(ctx context.Context, e trigger.Event, _ time.Time) (trigger.Event, bool, error) {
			return m.Trigger.CreateEvent(ctx, e, time.Time{})
		}
		m.createAndAdd = func(ctx context.Context, e trigger.Event, _ time.Time, j mortise.Job) (trigger.Event, bool, error) {
			return m.Trigger.CreateEventAndAdd(ctx, e, time.Time{}, j)
		}
	}},
	{name: "takes keySince as exclusive", breaks: []string{"store/create-key-at-window-start", "txstore/same-key-adds-nothing"}, mutate: func(m *mutant) {
		m.create = func(ctx context.Context, e trigger.Event, since time.Time) (trigger.Event, bool, error) {
			return m.Trigger.CreateEvent(ctx, e, since.Add(time.Microsecond))
		}
		m.createAndAdd = func(ctx context.Context, e trigger.Event, since time.Time, j mortise.Job) (trigger.Event, bool, error) {
			return m.Trigger.CreateEventAndAdd(ctx, e, since.Add(time.Microsecond), j)
		}
	}},
	{name: "ignores keys", breaks: []string{"store/create-same-key", "store/create-concurrent-one-key", "store/list-by-key"}, mutate: func(m *mutant) {
		m.create = func(ctx context.Context, e trigger.Event, since time.Time) (trigger.Event, bool, error) {
			key := e.IdempotencyKey
			e.IdempotencyKey = ""
			stored, created, err := m.Trigger.CreateEvent(ctx, e, since)
			stored.IdempotencyKey = key
			return stored, created, err
		}
	}},
	{name: "frees the keys of failed events", breaks: []string{"store/create-key-of-finished-event"}, mutate: func(m *mutant) {
		m.update = func(ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error) error {
			return m.Trigger.UpdateEvent(ctx, org, id, func(e *trigger.Event) error {
				err := f(e)
				if e.Status == trigger.StatusFailed {
					e.IdempotencyKey = ""
				}
				return err
			})
		}
	}},
	{name: "folds case", breaks: []string{"store/create-key-is-exact", "store/organizations-are-exact", "organizations/are-exact"}, mutate: func(m *mutant) {
		m.create = func(ctx context.Context, e trigger.Event, since time.Time) (trigger.Event, bool, error) {
			e.IdempotencyKey, e.Organization = strings.ToLower(e.IdempotencyKey), strings.ToLower(e.Organization)
			return m.Trigger.CreateEvent(ctx, e, since)
		}
		m.updateOrganization = func(ctx context.Context, org string, f func(*trigger.Organization) error) error {
			return m.Trigger.UpdateOrganization(ctx, strings.ToLower(org), f)
		}
		m.organization = func(ctx context.Context, org string) (trigger.Organization, error) {
			return m.Trigger.Setup(ctx, strings.ToLower(org))
		}
	}},
	{name: "has one space of keys for all organizations", breaks: []string{"store/create-key-of-other-organization"}, mutate: func(m *mutant) {
		var used sync.Map
		m.create = func(ctx context.Context, e trigger.Event, since time.Time) (trigger.Event, bool, error) {
			if other, ok := used.LoadOrStore(e.IdempotencyKey, e.Clone()); ok && e.IdempotencyKey != "" {
				return other.(trigger.Event).Clone(), false, nil
			}
			return m.Trigger.CreateEvent(ctx, e, since)
		}
	}},
	{name: "takes the empty key for a key", breaks: []string{"store/create-empty-key-never-matches"}, mutate: func(m *mutant) {
		m.create = func(ctx context.Context, e trigger.Event, since time.Time) (trigger.Event, bool, error) {
			if page, _ := m.Trigger.ListEvents(ctx, e.Organization, trigger.EventQuery{Limit: 1}); e.IdempotencyKey == "" && len(page.Items) > 0 {
				return page.Items[0], false, nil
			}
			return m.Trigger.CreateEvent(ctx, e, since)
		}
	}},
}

var updateMutants = []broken{
	{name: "leaks to other organizations", breaks: []string{"store/get-other-organization", "store/organizations-are-exact"}, mutate: func(m *mutant) {
		m.get = func(ctx context.Context, org string, id uuid.UUID) (trigger.Event, error) {
			for _, other := range []string{org, "org-a", "org-b", "acme", "ACME"} {
				if e, err := m.Trigger.Event(ctx, other, id); err == nil {
					return e, nil
				}
			}
			return trigger.Event{}, trigger.ErrNotFound
		}
	}},
	{name: "knows every event", breaks: []string{"store/get-unknown"}, mutate: func(m *mutant) {
		m.get = func(ctx context.Context, org string, id uuid.UUID) (trigger.Event, error) {
			e, _ := m.Trigger.Event(ctx, org, id)
			return e, nil
		}
	}},
	{name: "updates without care", mutate: func(m *mutant) {
		m.update = func(ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error) error {
			e, err := m.Trigger.Event(ctx, org, id)
			called := f(&e)
			conformance.Seam()
			_ = m.Trigger.UpdateEvent(ctx, org, id, func(stored *trigger.Event) error { *stored = e; return nil })
			if err != nil {
				return err
			}
			return called
		}
	}, breaks: []string{"store/update-concurrent", "store/update-error-changes-nothing", "store/update-unknown"}},
	{name: "swallows the error of update", breaks: []string{"store/update-error-changes-nothing", "store/update-panic"}, mutate: func(m *mutant) {
		m.update = func(ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error) error {
			return m.Trigger.UpdateEvent(ctx, org, id, func(e *trigger.Event) error {
				defer func() { _ = recover() }()
				before := e.Clone()
				if f(e) != nil {
					*e = before
				}
				return nil
			})
		}
	}},
	{name: "keeps what it gave to update", breaks: []string{"store/update-copies"}, mutate: func(m *mutant) {
		var mu sync.Mutex
		last := make(map[uuid.UUID]*trigger.Event)
		m.update = func(ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error) error {
			return m.Trigger.UpdateEvent(ctx, org, id, func(e *trigger.Event) error {
				mu.Lock()
				defer mu.Unlock()
				last[id] = e
				return f(e)
			})
		}
		m.get = func(ctx context.Context, org string, id uuid.UUID) (trigger.Event, error) {
			mu.Lock()
			defer mu.Unlock()
			if e, ok := last[id]; ok {
				return *e, nil
			}
			return m.Trigger.Event(ctx, org, id)
		}
	}},
	{name: "lets update move an event", breaks: []string{"store/update-ignores-identity"}, mutate: func(m *mutant) {
		m.update = func(ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error) error {
			e, err := m.Trigger.Event(ctx, org, id)
			if err != nil {
				return err
			}
			if err := f(&e); err != nil {
				return err
			}
			if e.ID != id {
				_, _, err := m.Trigger.CreateEvent(ctx, e, time.Time{})
				return err
			}
			return m.Trigger.UpdateEvent(ctx, org, id, func(stored *trigger.Event) error { *stored = e; return nil })
		}
	}},
	{name: "updates only the status", breaks: []string{"store/update-stores-what-it-leaves", "store/update-releases-key", "store/strings-keep-every-byte"}, mutate: func(m *mutant) {
		m.update = func(ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error) error {
			return m.Trigger.UpdateEvent(ctx, org, id, func(e *trigger.Event) error {
				before := e.Clone()
				err := f(e)
				before.Status = e.Status
				*e = before
				return err
			})
		}
	}},
	{name: "writes an update in two steps", breaks: []string{"store/reads-are-whole"}, mutate: func(m *mutant) {
		m.update = func(ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error) error {
			var after trigger.Event
			if err := m.Trigger.UpdateEvent(ctx, org, id, func(e *trigger.Event) error {
				said := e.LastError
				err := f(e)
				after = e.Clone()
				e.LastError = said
				return err
			}); err != nil {
				return err
			}
			conformance.Seam()
			return m.Trigger.UpdateEvent(ctx, org, id, func(e *trigger.Event) error { e.LastError = after.LastError; return nil })
		}
	}},
}
