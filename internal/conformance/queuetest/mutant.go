package queuetest

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// Mutant is a job queue whose methods can be replaced. A new one is faithful.
type Mutant[J Job] struct {
	Add        func(ctx context.Context, j J, at time.Time) error
	Claim      func(ctx context.Context, token uuid.UUID, now, until time.Time, limit int, except ...string) ([]Lease[J], error)
	Extend     func(ctx context.Context, l Lease[J], until time.Time) error
	Release    func(ctx context.Context, l Lease[J], at time.Time) error
	Remove     func(ctx context.Context, l Lease[J], dead bool) error
	NotifyJobs func(wake func()) (stop func())

	Enqueue    func(ctx context.Context, j J) error
	Consume    func(ctx context.Context, workers int, handle Handler[J]) error
	ConsumeOne func(ctx context.Context, handle Handler[J]) (bool, error)

	leases Leases[J]
	queue  Queue[J]
	fail   func() error
}

// NewMutant returns a faithful mutant. queue is one over the mutant as a table, so that it makes the mistakes of that too. fail returns an
// error while the backend is broken.
func NewMutant[J Job](leases Leases[J], queue Queue[J], fail func() error) *Mutant[J] {
	return &Mutant[J]{
		Add: leases.Add, Claim: leases.Claim, Extend: leases.Extend, Release: leases.Release, Remove: leases.Remove,
		NotifyJobs: leases.NotifyJobs,
		Enqueue:    queue.Enqueue, Consume: queue.Consume, ConsumeOne: queue.ConsumeOne,
		leases: leases, queue: queue, fail: fail,
	}
}

// Mistake is what makes a mutant break rules.
type Mistake[J Job] struct {
	Name   string
	Breaks []string // the IDs of the rules
	Make   func(m *Mutant[J])
}

// Mistakes returns some for each of the [Rules] but those of whole backends: that jobs are durable, and how a backend fails.
func Mistakes[J Job](d *Domain[J]) []Mistake[J] {
	all := slices.Concat(leaseMistakes(d), holderMistakes[J](d.LeaseLost), notifierMistakes[J](), queueMistakes(d), consumeMistakes[J]())
	var missing []string // the rules that the domain does not have
	if d.DeadLetters {
		all = append(all, deadLetterMistakes[J]()...)
	} else {
		for _, r := range deadLetterRules[J](d.AddName) {
			missing = append(missing, r.ID)
		}
	}
	for i := range all {
		breaks := slices.DeleteFunc(all[i].Breaks, func(id string) bool { return slices.Contains(missing, id) })
		for k, id := range breaks {
			if own, ok := d.Own[id]; ok {
				breaks[k] = own.ID
			}
		}
		all[i].Breaks = breaks
	}
	return all
}

// EveryLease applies change to all leases that Claim returns.
func (m *Mutant[J]) EveryLease(change func(*Lease[J])) {
	m.Claim = func(ctx context.Context, token uuid.UUID, now, until time.Time, limit int, except ...string) ([]Lease[J], error) {
		leases, err := m.leases.Claim(ctx, token, now, until, limit, except...)
		for i := range leases {
			change(&leases[i])
		}
		return leases, err
	}
}

// restAtNothing tells [conformance.Idle] of each claim that finds nothing.
func (m *Mutant[J]) restAtNothing() {
	claim := m.Claim
	m.Claim = func(ctx context.Context, token uuid.UUID, now, until time.Time, limit int, except ...string) ([]Lease[J], error) {
		leases, err := claim(ctx, token, now, until, limit, except...)
		if err == nil && len(leases) == 0 {
			conformance.Rest()
		}
		return leases, err
	}
}

// everyDelivery stands between the queue and the handlers.
func (m *Mutant[J]) everyDelivery(between func(ctx, consuming context.Context, d Delivery[J], handle Handler[J]) Verdict) {
	m.Consume = func(ctx context.Context, workers int, handle Handler[J]) error {
		return m.queue.Consume(ctx, workers, func(held context.Context, d Delivery[J]) Verdict { return between(held, ctx, d, handle) })
	}
	m.ConsumeOne = func(ctx context.Context, handle Handler[J]) (bool, error) {
		return m.queue.ConsumeOne(ctx, func(held context.Context, d Delivery[J]) Verdict { return between(held, ctx, d, handle) })
	}
}
