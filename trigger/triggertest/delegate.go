package triggertest

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// methods are those of a backend.
type methods struct {
	CreateEvent          func(ctx context.Context, e trigger.Event, since time.Time) (trigger.Event, bool, error)
	Event                func(ctx context.Context, org string, id uuid.UUID) (trigger.Event, error)
	UpdateEvent          func(ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error) error
	ListEvents           func(ctx context.Context, org string, q trigger.EventQuery) (mortise.Page[trigger.Event], error)
	Unqueued             func(ctx context.Context, before time.Time, limit int) ([]trigger.Event, error)
	Prune                func(ctx context.Context, before time.Time, limit int) (int, error)
	Stats                func(ctx context.Context, org string, most int) (trigger.Stats, error)
	StatsAll             func(ctx context.Context, most int) (trigger.AllStats, error)
	Setup                func(ctx context.Context, org string) (trigger.Organization, error)
	UpdateOrganization   func(ctx context.Context, org string, f func(*trigger.Organization) error) error
	CreateKey            func(ctx context.Context, k trigger.APIKey) error
	KeyByDigest          func(ctx context.Context, digest [32]byte) (trigger.APIKey, error)
	UpdateKey            func(ctx context.Context, org string, id uuid.UUID, f func(*trigger.APIKey) error) error
	ListKeys             func(ctx context.Context, org string, q trigger.KeyQuery) (mortise.Page[trigger.APIKey], error)
	Stale                func(ctx context.Context, checked, due time.Time, limit int) ([]trigger.Event, error)
	CreateEventAndAdd    func(ctx context.Context, e trigger.Event, since time.Time, j mortise.Job) (trigger.Event, bool, error)
	UpdateEventAndRemove func(ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error, l mortise.Lease, dead bool) error
	MarkDeleted          func(ctx context.Context, org string, at time.Time) (time.Time, error)
	RemoveDeleted        func(ctx context.Context, org string, limit int) (bool, error)
}

// delegate is a backend of functions: each method calls the one with its name. [Faults]
// stands in between there, and so do the mistakes of the mutants that prove the suite.
type delegate struct{ On methods }

func (w *delegate) CreateEvent(ctx context.Context, e trigger.Event, since time.Time) (trigger.Event, bool, error) {
	return w.On.CreateEvent(ctx, e, since)
}

func (w *delegate) Event(ctx context.Context, org string, id uuid.UUID) (trigger.Event, error) {
	return w.On.Event(ctx, org, id)
}

func (w *delegate) UpdateEvent(ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error) error {
	return w.On.UpdateEvent(ctx, org, id, f)
}

func (w *delegate) ListEvents(
	ctx context.Context, org string, q trigger.EventQuery,
) (mortise.Page[trigger.Event], error) {
	return w.On.ListEvents(ctx, org, q)
}

func (w *delegate) Unqueued(ctx context.Context, before time.Time, limit int) ([]trigger.Event, error) {
	return w.On.Unqueued(ctx, before, limit)
}

func (w *delegate) Prune(ctx context.Context, before time.Time, limit int) (int, error) {
	return w.On.Prune(ctx, before, limit)
}

func (w *delegate) Stats(ctx context.Context, org string, most int) (trigger.Stats, error) {
	return w.On.Stats(ctx, org, most)
}

func (w *delegate) StatsAll(ctx context.Context, most int) (trigger.AllStats, error) {
	return w.On.StatsAll(ctx, most)
}
func (w *delegate) Setup(ctx context.Context, org string) (trigger.Organization, error) {
	return w.On.Setup(ctx, org)
}

func (w *delegate) UpdateOrganization(ctx context.Context, org string, f func(*trigger.Organization) error) error {
	return w.On.UpdateOrganization(ctx, org, f)
}

func (w *delegate) CreateKey(ctx context.Context, k trigger.APIKey) error {
	return w.On.CreateKey(ctx, k)
}

func (w *delegate) KeyByDigest(ctx context.Context, digest [32]byte) (trigger.APIKey, error) {
	return w.On.KeyByDigest(ctx, digest)
}

func (w *delegate) UpdateKey(ctx context.Context, org string, id uuid.UUID, f func(*trigger.APIKey) error) error {
	return w.On.UpdateKey(ctx, org, id, f)
}

func (w *delegate) ListKeys(ctx context.Context, org string, q trigger.KeyQuery) (mortise.Page[trigger.APIKey], error) {
	return w.On.ListKeys(ctx, org, q)
}

func (w *delegate) Stale(ctx context.Context, checked, due time.Time, limit int) ([]trigger.Event, error) {
	return w.On.Stale(ctx, checked, due, limit)
}

func (w *delegate) CreateEventAndAdd(
	ctx context.Context, e trigger.Event, since time.Time, j mortise.Job,
) (trigger.Event, bool, error) {
	return w.On.CreateEventAndAdd(ctx, e, since, j)
}

func (w *delegate) UpdateEventAndRemove(
	ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error, l mortise.Lease, dead bool,
) error {
	return w.On.UpdateEventAndRemove(ctx, org, id, f, l, dead)
}

func (w *delegate) MarkDeleted(ctx context.Context, org string, at time.Time) (time.Time, error) {
	return w.On.MarkDeleted(ctx, org, at)
}

func (w *delegate) RemoveDeleted(ctx context.Context, org string, limit int) (bool, error) {
	return w.On.RemoveDeleted(ctx, org, limit)
}
