package mortise

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
)

// ErrLeaseLost means that a job is not held by the lease any more: the lease ended and
// somebody else has claimed the job, or the job is gone.
var ErrLeaseLost = errors.New("mortise: the lease is lost")

// Lease is a job held by one consumer until a time.
type Lease struct {
	Job        Job
	Deliveries int       // how often the job has been claimed, this time included
	Token      uuid.UUID // of the Claim that gave the lease: with the job it says who holds it
}

// Leases is a table of jobs of all kinds: what a backend implements to become a [Queue]
// by way of package [github.com/seed-6363c74e/mortise/storage/leases]. Each job is
// claimable from a time on. A claim holds it for a while, after which anybody may claim
// it.
//
// All methods are safe for concurrent use, by several processes too if the backend is
// shared, and each is atomic. Times are those of the backend's own clock, with
// microseconds: a server's where there is one, so that the clocks of its clients need not
// agree. Any failure but ErrLeaseLost, a context that has ended included, is an error that
// is not ErrLeaseLost.
//
// Jobs are the receiver's own: what comes in and goes out is the caller's to change. Those
// that come in are valid ([Job.Check]). Only the organization of a job says whose it is:
// these methods serve the queue, which is maintenance.
type Leases interface {
	// Add stores a job, claimable from its At on, or from now on if that is zero. An At
	// that has passed counts for the order of jobs. A job that is there, a dead one
	// included, is left as it is, and there is no error.
	Add(ctx context.Context, j Job) error

	// Cancel removes a job that nobody holds, whatever its At. A job that is held (a lease
	// whose end has passed still holds it, see Holder), dead, or not there is left as it
	// is, and there is no error.
	Cancel(ctx context.Context, j Job) error

	// Claim takes at most c.Limit jobs that are claimable now, and holds them for c.TTL.
	// No job is in two claims at once, and a claim beside others takes jobs that they leave.
	// The At of a job that it returns is zero.
	//
	// Organizations take turns, one job each, and the turns go on from one claim to the
	// next of the same kinds; claims of other kinds take none of them away. So an
	// organization with one job waits for at most one job of each other organization, even
	// if one of those has 10,000.
	//
	// Of the jobs of an organization, those claimable for the longest time come first: a
	// job that its holder left is claimable from the end of its lease on. Among equals,
	// those added or released first come first, so that a job that is given back at once
	// holds up no other. A claim does not change the order of equals: a job that is
	// claimed, and left, comes before those that were added or released after it.
	Claim(ctx context.Context, c Claim) ([]Lease, error)

	Holder
}

// Claim says what a claim takes.
type Claim struct {
	Token  uuid.UUID     // of the leases: a new one for each claim, never uuid.Nil
	Kinds  []string      // only jobs of these kinds, at least one; a double counts once
	Except []string      // no jobs of these organizations
	Limit  int           // jobs at most, over 0
	TTL    time.Duration // how long they are held, over 0
}

// Holder is what those may do who hold a job. Each method acts only for the present
// holder. If the job was released, claimed again with another token, or is gone, it
// changes nothing and returns [ErrLeaseLost]. A lease whose end has passed is still held
// until somebody else claims the job. A lease with the token uuid.Nil never holds.
type Holder interface {
	// Extend moves the end of a lease to a time from now, be it later or earlier.
	Extend(ctx context.Context, l Lease, ttl time.Duration) error

	// Release gives the job back, claimable after a while.
	Release(ctx context.Context, l Lease, after time.Duration) error

	// Remove ends the job. If dead is true, it is kept as a dead letter that no Claim
	// returns.
	Remove(ctx context.Context, l Lease, dead bool) error
}
