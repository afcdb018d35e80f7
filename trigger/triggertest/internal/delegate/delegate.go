// Package delegate has a backend of functions, for what stands between a backend and those
// who call it: the faults of hosts' tests, and the mistakes of the mutants that prove the
// suite.
package delegate

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// Methods are what the methods of a [Backend] call.
type Methods struct {
	CreateEvent        func(ctx context.Context, e trigger.Event, since time.Time) (trigger.Event, bool, error)
	CreateEvents       func(ctx context.Context, events []trigger.Event, jobs []mortise.Job) error
	Event              func(ctx context.Context, org string, id uuid.UUID) (trigger.Event, error)
	UpdateEvent        func(ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error) error
	ListEvents         func(ctx context.Context, org string, q trigger.EventQuery) (mortise.Page[trigger.Event], error)
	Progress           func(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]trigger.Progress, error)
	Overdue            func(ctx context.Context, before time.Time, limit int) ([]trigger.Event, error)
	AllEvents          func(ctx context.Context, q trigger.AllQuery) (mortise.Page[trigger.Event], error)
	Prune              func(ctx context.Context, status trigger.Status, before, keyedBefore time.Time, limit int) (int, bool, error)
	Counts             func(ctx context.Context, org string, most int) (trigger.Counts, error)
	Backlog            func(ctx context.Context, most int) (mortise.Backlog, error)
	Setup              func(ctx context.Context, org string) (trigger.Organization, error)
	UpdateOrganization func(ctx context.Context, org string, f func(*trigger.Organization) error) error
	CreateKey          func(ctx context.Context, k trigger.APIKey) error
	KeyByDigest        func(ctx context.Context, digest [32]byte) (trigger.APIKey, error)
	UpdateKey          func(ctx context.Context, org string, id uuid.UUID, f func(*trigger.APIKey) error) error
	ListKeys           func(ctx context.Context, org string, after mortise.Cursor, limit int) (mortise.Page[trigger.APIKey], error)
	CreateEventAndAdd  func(ctx context.Context, e trigger.Event, since time.Time, j mortise.Job) (trigger.Event, bool, error)
	UpdateEventAndJobs func(ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) ([]mortise.Job, error), l mortise.Lease, dead bool) error
	Transact           func(ctx context.Context, org string, do func(ctx context.Context) error) error
	MarkDeleted        func(ctx context.Context, org string, at time.Time) (time.Time, error)
	RemoveDeleted      func(ctx context.Context, org string, limit int) (int, bool, error)
	Revocations        func(ctx context.Context) (mortise.Revocations, error)
	RaiseRevocations   func(ctx context.Context, n int64) error
}

// Backend has all methods of the backends of trigger. Each calls the function with its name.
type Backend struct{ On Methods }

func (w *Backend) CreateEvent(ctx context.Context, e trigger.Event, since time.Time) (trigger.Event, bool, error) {
	return w.On.CreateEvent(ctx, e, since)
}

func (w *Backend) CreateEvents(ctx context.Context, events []trigger.Event, jobs []mortise.Job) error {
	return w.On.CreateEvents(ctx, events, jobs)
}

func (w *Backend) Event(ctx context.Context, org string, id uuid.UUID) (trigger.Event, error) {
	return w.On.Event(ctx, org, id)
}

func (w *Backend) UpdateEvent(ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) error) error {
	return w.On.UpdateEvent(ctx, org, id, f)
}

func (w *Backend) ListEvents(
	ctx context.Context, org string, q trigger.EventQuery,
) (mortise.Page[trigger.Event], error) {
	return w.On.ListEvents(ctx, org, q)
}

func (w *Backend) Progress(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]trigger.Progress, error) {
	return w.On.Progress(ctx, ids)
}

func (w *Backend) Overdue(ctx context.Context, before time.Time, limit int) ([]trigger.Event, error) {
	return w.On.Overdue(ctx, before, limit)
}

func (w *Backend) AllEvents(ctx context.Context, q trigger.AllQuery) (mortise.Page[trigger.Event], error) {
	return w.On.AllEvents(ctx, q)
}

func (w *Backend) Prune(
	ctx context.Context, status trigger.Status, before, keyedBefore time.Time, limit int,
) (int, bool, error) {
	return w.On.Prune(ctx, status, before, keyedBefore, limit)
}

func (w *Backend) Counts(ctx context.Context, org string, most int) (trigger.Counts, error) {
	return w.On.Counts(ctx, org, most)
}

func (w *Backend) Backlog(ctx context.Context, most int) (mortise.Backlog, error) {
	return w.On.Backlog(ctx, most)
}

func (w *Backend) Setup(ctx context.Context, org string) (trigger.Organization, error) {
	return w.On.Setup(ctx, org)
}

func (w *Backend) UpdateOrganization(ctx context.Context, org string, f func(*trigger.Organization) error) error {
	return w.On.UpdateOrganization(ctx, org, f)
}

func (w *Backend) CreateKey(ctx context.Context, k trigger.APIKey) error {
	return w.On.CreateKey(ctx, k)
}

func (w *Backend) KeyByDigest(ctx context.Context, digest [32]byte) (trigger.APIKey, error) {
	return w.On.KeyByDigest(ctx, digest)
}

func (w *Backend) UpdateKey(ctx context.Context, org string, id uuid.UUID, f func(*trigger.APIKey) error) error {
	return w.On.UpdateKey(ctx, org, id, f)
}

func (w *Backend) ListKeys(ctx context.Context, org string, after mortise.Cursor, limit int) (mortise.Page[trigger.APIKey], error) {
	return w.On.ListKeys(ctx, org, after, limit)
}

func (w *Backend) CreateEventAndAdd(
	ctx context.Context, e trigger.Event, since time.Time, j mortise.Job,
) (trigger.Event, bool, error) {
	return w.On.CreateEventAndAdd(ctx, e, since, j)
}

func (w *Backend) UpdateEventAndJobs(
	ctx context.Context, org string, id uuid.UUID, f func(*trigger.Event) ([]mortise.Job, error), l mortise.Lease, dead bool,
) error {
	return w.On.UpdateEventAndJobs(ctx, org, id, f, l, dead)
}

func (w *Backend) Transact(ctx context.Context, org string, do func(ctx context.Context) error) error {
	return w.On.Transact(ctx, org, do)
}

func (w *Backend) MarkDeleted(ctx context.Context, org string, at time.Time) (time.Time, error) {
	return w.On.MarkDeleted(ctx, org, at)
}

func (w *Backend) RemoveDeleted(ctx context.Context, org string, limit int) (int, bool, error) {
	return w.On.RemoveDeleted(ctx, org, limit)
}

func (w *Backend) Revocations(ctx context.Context) (mortise.Revocations, error) {
	return w.On.Revocations(ctx)
}

func (w *Backend) RaiseRevocations(ctx context.Context, n int64) error {
	return w.On.RaiseRevocations(ctx, n)
}
