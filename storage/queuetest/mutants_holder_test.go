package queuetest_test

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// holderMutants are those of Extend, Release and Remove.
var holderMutants = []broken{
	{name: "lets an old holder act", breaks: "leases/old-holder leases/never-held queue/lost-lease", mutate: func(m *mutant) {
		var tokens records[uuid.UUID]
		everyLease(func(l *mortise.Lease) { tokens.set(l.Job, l.Token) })(m)
		everyHolder(func(l *mortise.Lease) { l.Token, _ = tokens.get(l.Job) })(m)
	}},
	{name: "looks at the token only", breaks: "leases/never-held", mutate: func(m *mutant) {
		var mu sync.Mutex
		jobs := make(map[uuid.UUID]mortise.Job)
		everyLease(func(l *mortise.Lease) {
			mu.Lock()
			defer mu.Unlock()
			jobs[l.Token] = l.Job
		})(m)
		everyHolder(func(l *mortise.Lease) {
			mu.Lock()
			defer mu.Unlock()
			if j, ok := jobs[l.Token]; ok {
				l.Job = j
			}
		})(m)
	}},
	{name: "takes no token for the token of a free job", breaks: "leases/nil-token",
		mutate: replace("Remove", func(m *mutant, ctx context.Context, l mortise.Lease, dead bool) error {
			if l.Token == uuid.Nil {
				return m.inner.Cancel(ctx, l.Job)
			}
			return m.inner.Remove(ctx, l, dead)
		})},
	{name: "extends nothing", breaks: "leases/extend leases/one-claim-many-jobs leases/failures-alone",
		mutate: replace("Extend", func(*mutant, context.Context, mortise.Lease, time.Duration) error { return nil })},
	{name: "never shortens a lease", breaks: "leases/extend", mutate: func(m *mutant) {
		var ends records[time.Time]
		m.On.Extend = func(ctx context.Context, l mortise.Lease, ttl time.Duration) error {
			until := m.time().Add(ttl)
			if end, _ := ends.get(l.Job); until.Before(end) {
				return nil
			}
			ends.set(l.Job, until)
			return m.inner.Extend(ctx, l, ttl)
		}
	}},
	{name: "releases at once", breaks: "leases/release leases/released-lease",
		mutate: replace("Release", func(m *mutant, ctx context.Context, l mortise.Lease, _ time.Duration) error {
			return m.inner.Release(ctx, l, 0)
		})},
	{name: "keeps the holder after a release", breaks: "leases/released-lease", mutate: func(m *mutant) { m.On.Release = m.inner.Extend }},
	{name: "keeps removed jobs for ever", breaks: "leases/remove queue/done",
		mutate: replace("Remove", func(m *mutant, ctx context.Context, l mortise.Lease, _ bool) error {
			return m.inner.Extend(ctx, l, 1000*time.Hour)
		})},
	{name: "lets ended leases go", breaks: "leases/ended-lease-is-held", mutate: func(m *mutant) {
		var ends records[time.Time]
		m.On.Claim = func(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
			leases, err := m.inner.Claim(ctx, c)
			for _, l := range leases {
				ends.set(l.Job, m.time().Add(c.TTL))
			}
			return leases, err
		}
		everyHolder(func(l *mortise.Lease) {
			if end, _ := ends.get(l.Job); end.Before(m.time()) {
				l.Token = uuid.Nil
			}
		})(m)
	}},
	{name: "does not miss jobs that are gone", breaks: "leases/gone",
		mutate: replace("Remove", func(m *mutant, ctx context.Context, l mortise.Lease, dead bool) error {
			_ = m.inner.Remove(ctx, l, dead)
			return nil
		})},
	{name: "makes every removed job dead", breaks: "leases/remove queue/done",
		mutate: replace("Remove", func(m *mutant, ctx context.Context, l mortise.Lease, _ bool) error {
			return m.inner.Remove(ctx, l, true)
		})},
	{name: "removes dead jobs", breaks: "leases/add-dead leases/cancel-dead leases/durable",
		mutate: replace("Remove", func(m *mutant, ctx context.Context, l mortise.Lease, _ bool) error {
			return m.inner.Remove(ctx, l, false)
		})},
	{name: "brings dead jobs back", breaks: "leases/remove-dead queue/dead",
		mutate: replace("Remove", func(m *mutant, ctx context.Context, l mortise.Lease, dead bool) error {
			if dead {
				return m.inner.Release(ctx, l, 0)
			}
			return m.inner.Remove(ctx, l, dead)
		})},
}

// raceMutants are those of calls that come at once, or are cut off.
var raceMutants = []broken{
	{name: "cancels in two steps", breaks: "leases/cancel-concurrent", mutate: (*mutant).cancelsInTwoSteps},
	{name: "fails all calls of a group", breaks: "leases/failures-alone",
		mutate: inGroup(func(_ context.Context, _ mortise.Lease, own, others error) error {
			if own == nil {
				return others
			}
			return own
		})},
	{name: "undoes all calls of a group", breaks: "leases/failures-alone", mutate: func(m *mutant) {
		inGroup(func(ctx context.Context, l mortise.Lease, own, others error) error {
			if own == nil && others != nil {
				_ = m.inner.Release(ctx, l, 0)
			}
			return own
		})(m)
	}},
	{name: "takes a call that is cut off for a lost lease", breaks: "leases/context-ends-in-a-call",
		mutate: replace("Extend", func(m *mutant, ctx context.Context, l mortise.Lease, ttl time.Duration) error {
			if _, ends := ctx.Deadline(); ends {
				<-ctx.Done()
				return mortise.ErrLeaseLost
			}
			return m.inner.Extend(ctx, l, ttl)
		})},
	{name: "loses what a claim that is cut off took", breaks: "leases/context-ends-in-a-call",
		mutate: replace("Claim", func(m *mutant, ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
			leases, err := m.inner.Claim(context.WithoutCancel(ctx), c)
			if _, ends := ctx.Deadline(); !ends {
				return leases, err
			}
			<-ctx.Done()
			for _, l := range leases {
				_ = m.inner.Remove(context.WithoutCancel(ctx), l, false)
			}
			return nil, ctx.Err()
		})},
	{name: "releases half when it is cut off", breaks: "leases/context-ends-in-a-call",
		mutate: replace("Release", func(m *mutant, ctx context.Context, l mortise.Lease, after time.Duration) error {
			if _, ends := ctx.Deadline(); !ends {
				return m.inner.Release(ctx, l, after)
			}
			_ = m.inner.Release(context.WithoutCancel(ctx), l, 100*after) // and the time follows
			<-ctx.Done()
			return ctx.Err()
		})},
}

// cancelsInTwoSteps looks whether a job is held, and removes it then. Claims come between.
func (m *mutant) cancelsInTwoSteps() {
	var held records[mortise.Lease]
	looked := make(chan struct{})
	first := sync.OnceFunc(func() { close(looked) })
	m.On.Claim = func(ctx context.Context, c mortise.Claim) ([]mortise.Lease, error) {
		conformance.Hold(looked)
		leases, err := m.inner.Claim(ctx, c)
		for _, l := range leases {
			held.set(l.Job, l)
		}
		return leases, err
	}
	m.On.Cancel = func(ctx context.Context, j mortise.Job) error {
		if _, ok := held.get(j); ok {
			return nil
		}
		first()
		conformance.Seam()
		if l, ok := held.get(j); ok {
			return m.inner.Remove(ctx, l, false)
		}
		return m.inner.Cancel(ctx, j)
	}
}

// inGroup makes each Extend wait for the calls beside it. outcome is told how it ended, and
// of a failure among the others.
func inGroup(
	outcome func(ctx context.Context, l mortise.Lease, own, others error) error,
) func(*mutant) {
	return func(m *mutant) {
		var mu sync.Mutex
		var failed error
		m.On.Extend = func(ctx context.Context, l mortise.Lease, ttl time.Duration) error {
			own := m.inner.Extend(ctx, l, ttl)
			mu.Lock()
			if own != nil {
				failed = own
			}
			mu.Unlock()
			conformance.Seam()
			mu.Lock()
			others := failed
			mu.Unlock()
			return outcome(ctx, l, own, others)
		}
	}
}
