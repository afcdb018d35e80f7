package triggertest_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/trigger"
)

// broken is a mutant with the rules that it breaks.
type broken struct {
	name   string
	breaks string // ids of rules
	mutate func(*mutant)
	reopen func(*testing.T, trigger.Backend) trigger.Backend
}

func mutants() []broken {
	return slices.Concat(keptMutants(), fieldMutants(), createMutants, nameMutants, updateMutants, leaveMutants, listMutants,
		countMutants, backlogMutants, deletionMutants, deletionStepMutants, txMutants, transactMutants, otherMutants)
}

// fieldMutants miss each a change of one field, unless another field changes with it.
func fieldMutants() (all []broken) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[trigger.Event]()) {
		if slices.Contains([]string{"ID", "Organization", "SubmittedAt"}, f.Name) {
			continue
		}
		all = append(all, broken{name: "misses a change of " + f.Name + " alone", breaks: "store/update-one-field", mutate: updating(func(c *mutate.Call) {
			e := *mutate.Get[*trigger.Event](c.In)
			before := e.Clone()
			c.Go()
			if left := e.Clone(); *c.Err() == nil {
				of := func(e *trigger.Event) reflect.Value { return reflect.ValueOf(e).Elem().FieldByIndex(f.Index) }
				if of(&left).Set(of(&before)); reflect.DeepEqual(left, before) {
					*e = before
				}
			}
		}, "UpdateEvent")})
	}
	return all
}

var createMutants = []broken{
	{name: "keeps the key of an event that has ended since", breaks: "store/create-key-of-event-that-ended-late",
		mutate: creating(func(m *mutant, c *mutate.Call, e *trigger.Event) {
			page, _ := m.Trigger.ListEvents(bg, e.Organization, trigger.EventQuery{IdempotencyKey: e.IdempotencyKey, Limit: 1})
			if since := mutate.Get[time.Time](c.In); e.IdempotencyKey != "" && len(page.Items) > 0 && page.Items[0].FinishedAt.After(*since) {
				created(c, page.Items[0], false)
				return
			}
			c.Go()
		})},
	{name: "truncates times to seconds", breaks: "store/create-returns-what-it-stored store/times-keep-microseconds", mutate: out(
		func(t *time.Time) { *t = t.Truncate(time.Second) }, eventReads...)},
	{name: "makes an empty context nil", breaks: "store/nil-differs-from-empty", mutate: out(func(e *trigger.Event) {
		if string(e.Context) == "{}" {
			e.Context = nil
		}
	})},
	{name: "makes an empty outcome nil", breaks: "store/nil-differs-from-empty", mutate: out(func(e *trigger.Event) {
		if e.Outcome != nil && e.Outcome.Data == nil {
			e.Outcome = nil
		}
	})},
	{name: "compacts JSON", breaks: "store/raw-json-keeps-every-byte", mutate: out(func(raw *json.RawMessage) {
		var b bytes.Buffer
		if *raw != nil && json.Compact(&b, *raw) == nil {
			*raw = b.Bytes()
		}
	})},
	{name: "trims strings", breaks: "store/strings-keep-every-byte",
		mutate: out(func(e *trigger.Event) { e.LastError = strings.TrimSpace(e.LastError) })},
	{name: "stores no new event", breaks: "store/create-concurrent", mutate: creating(func(_ *mutant, c *mutate.Call, e *trigger.Event) {
		created(c, e.Clone(), true)
	})},
	{name: "replaces events", breaks: "store/create-same-id", mutate: creating(func(m *mutant, c *mutate.Call, e *trigger.Event) {
		if m.Trigger.UpdateEvent(bg, e.Organization, e.ID, func(old *trigger.Event) error { *old = *e; return nil }) == nil {
			created(c, *e, true)
			return
		}
		c.Go()
	})},
	{name: "finds IDs of all organizations", breaks: "store/create-same-id-elsewhere",
		mutate: creating(func(m *mutant, c *mutate.Call, e *trigger.Event) {
			for _, org := range []string{"org-a", "org-b"} {
				if old, err := m.Trigger.Event(bg, org, e.ID); err == nil {
					created(c, old, false)
					return
				}
			}
			c.Go()
		})},
	{name: "ignores keySince",
		breaks: "store/create-key-before-window txstore/key-before-window store/create-concurrent-old-key",
		mutate: arg(func(since *time.Time) { *since = time.Time{} }, creations...)},
	{name: "takes keySince as exclusive", breaks: "store/create-key-at-window-start txstore/same-key-adds-nothing", mutate: arg(
		func(since *time.Time) { *since = since.Add(time.Microsecond) }, creations...)},
	{name: "ignores keys", breaks: "store/create-same-key store/create-concurrent-one-key store/list-by-key", mutate: creating(
		func(_ *mutant, c *mutate.Call, e *trigger.Event) {
			key := e.IdempotencyKey
			e.IdempotencyKey = ""
			c.Go()
			mutate.Get[trigger.Event](c.Out).IdempotencyKey = key
		})},
	{name: "frees the keys of failed events", breaks: "store/create-key-of-finished-event", mutate: in(func(e *trigger.Event) {
		if e.Status == trigger.StatusFailed {
			e.IdempotencyKey = ""
		}
	}, "UpdateEvent")},
	{name: "folds case", breaks: "store/create-key-is-exact store/organizations-are-exact organizations/are-exact", mutate: both(
		in(func(e *trigger.Event) {
			e.IdempotencyKey, e.Organization = strings.ToLower(e.IdempotencyKey), strings.ToLower(e.Organization)
		}, "CreateEvent"),
		arg(func(org *string) { *org = strings.ToLower(*org) }, "UpdateOrganization", "Setup"),
	)},
	{name: "has one space of keys for all organizations", breaks: "store/create-key-of-other-organization", mutate: joinsKeys(
		func(_, key string) string { return key })},
	{name: "takes the empty key for a key", breaks: "store/create-empty-key-never-matches", mutate: creating(
		func(m *mutant, c *mutate.Call, e *trigger.Event) {
			page, _ := m.Trigger.ListEvents(bg, e.Organization, trigger.EventQuery{Limit: 1})
			if e.IdempotencyKey == "" && len(page.Items) > 0 {
				created(c, page.Items[0], false)
				return
			}
			c.Go()
		})},
}

var updateMutants = []broken{
	{name: "leaks to other organizations", breaks: "store/get-other-organization store/organizations-are-exact", mutate: around(
		func(_ *mutant, c *mutate.Call) {
			for _, other := range []string{c.In[1].String(), "org-a", "org-b", "acme", "ACME"} {
				c.In[1].SetString(other)
				if c.Go(); *c.Err() == nil {
					return
				}
			}
		}, "Event")},
	{name: "knows every event", breaks: "store/get-unknown", mutate: forgiving("Event")},
	{name: "updates without care", breaks: "store/update-concurrent store/update-error-changes-nothing store/update-unknown",
		mutate: replace("UpdateEvent", func(m *mutant, ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error) error {
			e, err := m.Trigger.Event(ctx, org, id)
			called := f(&e)
			conformance.Seam()
			_ = m.Trigger.UpdateEvent(ctx, org, id, func(stored *trigger.Event) error { *stored = e; return nil })
			return cmp.Or(err, called)
		})},
	{name: "swallows the error of update", breaks: "store/update-error-changes-nothing store/update-panic",
		mutate: updating(func(c *mutate.Call) {
			defer func() { _ = recover() }()
			e := *mutate.Get[*trigger.Event](c.In)
			before := e.Clone()
			if c.Go(); *c.Err() != nil {
				*e, *c.Err() = before, nil
			}
		}, "UpdateEvent")},
	{name: "keeps what it gave to update", breaks: "store/update-copies", mutate: func(m *mutant) {
		var last sync.Map
		updating(func(c *mutate.Call) {
			e := *mutate.Get[*trigger.Event](c.In)
			last.Store(e.ID, e)
			c.Go()
		}, "UpdateEvent")(m)
		out(func(e *trigger.Event) {
			if given, ok := last.Load(e.ID); ok {
				*e = *given.(*trigger.Event)
			}
		}, "Event")(m)
	}},
	{name: "lets update move an event", breaks: "store/update-ignores-identity",
		mutate: replace("UpdateEvent", func(m *mutant, ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error) error {
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
		})},
	{name: "updates only the status",
		breaks: "store/update-stores-what-it-leaves store/update-releases-key store/strings-keep-every-byte",
		mutate: updating(
			func(c *mutate.Call) {
				e := *mutate.Get[*trigger.Event](c.In)
				before := e.Clone()
				c.Go()
				before.Status = e.Status
				*e = before
			}, "UpdateEvent")},
	{name: "writes an update in two steps", breaks: "store/reads-are-whole",
		mutate: replace("UpdateEvent", func(m *mutant, ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error) error {
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
		})},
}
