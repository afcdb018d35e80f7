package mortise

import (
	"context"
	"strconv"
	"time"
)

// MaxCount is how far services count: a [Count] of a service is exact up to it.
const MaxCount = 10_000

// Count is a number that is counted only so far, so that counting costs little however
// much there is.
type Count struct {
	N    int
	More bool // there are more than N, or there may be
}

// CountUpTo returns the Count of n things by somebody who counts at most most of them.
func CountUpTo(n, most int) Count { return Count{N: min(n, most), More: n > most} }

// String returns the number, followed by "+" if there may be more: "42", "10000+".
func (c Count) String() string {
	if c.More {
		return strconv.Itoa(c.N) + "+"
	}
	return strconv.Itoa(c.N)
}

// Counter counts the events or the runs of a store. All methods are safe for concurrent use.
// A Count is exact up to most (over 0), and else it is most and More: a backend that can
// keep much counts no further, by indexes, so that a call costs little however much is kept.
// Each number is of some moment during the call.
type Counter[C any] interface {
	// Counts counts the events or runs of an organization.
	Counts(ctx context.Context, org string, most int) (C, error)

	// Backlog counts the work of all organizations; each domain says which events or runs
	// are part of it. NextDue is the earliest DueAt of the waiting events or runs, in UTC,
	// but for zero ones. It is maintenance: no organization is asked for.
	Backlog(ctx context.Context, most int) (Backlog, error)
}

// Backlog is the work that the workers of a domain have, for all organizations together:
// for metrics, and to decide how many workers there should be. Each number is of some
// moment during the call.
type Backlog struct {
	Waiting Count // events or runs that wait for their time, a worker, or another attempt
	Running Count // a worker has them, or had them when it died

	// Failed counts the failed events of package trigger: the dead letters, which wait for
	// a person. Package audiosearch leaves it zero: it counts failed runs by organization
	// only.
	Failed Count

	// NextDue is the earliest DueAt of the waiting events or runs; zero: none waits. If it
	// lies in the past, the workers are late, by the time since then. Otherwise nothing is
	// late: all wait for their time, or for another attempt.
	NextDue time.Time
}
