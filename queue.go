package mortise

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/internal/name"
)

// Job asks for work to be done. It names the work and carries nothing of it.
//
// Kind, Organization and ID together say which job it is, and are compared as bytes.
type Job struct {
	Kind         string    // which work: 1 to 64 of a-z, 0-9, '_' and '-', see JobKind of a domain
	Organization string    // whose work: 1 to 255 bytes of UTF-8, without U+0000
	ID           string    // which one: 1 to 255 of A-Z, a-z, 0-9, '_' and '-'
	At           time.Time // not to be delivered before; zero: at once. In a Delivery it is zero.

	// Trace is a trace carrier (W3C trace context, say), at most 1 KiB. It is for brokers
	// and those who watch them, and comes with the job as it was added. Nil or empty is
	// none, and comes as either.
	Trace map[string]string
}

// String returns kind, organization and ID, for logs.
func (j Job) String() string { return fmt.Sprintf("%s/%q/%s", j.Kind, j.Organization, j.ID) }

const (
	maxKind  = 64
	maxTrace = 1024
)

// Check returns an error if j is not as its fields' comments say.
func (j Job) Check() error {
	size := 0
	for k, v := range j.Trace {
		size += len(k) + len(v)
	}
	switch {
	case !isWord(j.Kind, maxKind, false):
		return fmt.Errorf("mortise: the kind of a job is 1 to %d of a-z, 0-9, '_' and '-', and not %.80q", maxKind, j.Kind)
	case name.Problem(j.Organization) != "":
		return fmt.Errorf("mortise: the organization of a job %s, and is %.80q", name.Problem(j.Organization), j.Organization)
	case !isWord(j.ID, name.Max, true):
		return fmt.Errorf("mortise: the ID of a job is 1 to %d of A-Z, a-z, 0-9, '_' and '-', and not %.80q", name.Max, j.ID)
	case size > maxTrace:
		return fmt.Errorf("mortise: the trace of a job is %d bytes long, over the limit of %d", size, maxTrace)
	}
	return nil
}

func isWord(s string, most int, capitals bool) bool {
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_' || c == '-' || capitals && 'A' <= c && c <= 'Z') {
			return false
		}
	}
	return s != "" && len(s) <= most
}

// Delivery is a job that is handed to a consumer.
type Delivery struct {
	Job        Job
	Deliveries int       // how often this job has been handed out, this time included
	Token      uuid.UUID // of the job's Lease, where the queue is one of leases; else zero
}

// Lease returns the lease of a delivery by a queue of leases.
func (d Delivery) Lease() Lease { return Lease(d) }

// VerdictKind says what a consumer made of a delivery.
type VerdictKind uint8

// The verdicts.
const (
	// VerdictRetry: deliver it again, Verdict.After from now. It is the zero value, so that
	// nothing is lost by omission.
	VerdictRetry VerdictKind = iota

	// VerdictDone: never deliver it again.
	VerdictDone

	// VerdictDead: never deliver it again, and keep it as a dead letter where the queue can.
	VerdictDead

	// VerdictEnded: the consumer has removed the job itself, by its lease. See [Sharer].
	VerdictEnded
)

// Verdict is a consumer's answer to a Delivery.
type Verdict struct {
	Kind  VerdictKind
	After time.Duration // with VerdictRetry: not before this long from now; 0 is at once, and a handler that fails says more
}

// Handler makes an attempt at the work that a job names. It must be safe for concurrent
// use and idempotent: a job may come again, and while an earlier delivery of it whose
// lease was lost is still being handled.
type Handler = func(ctx context.Context, d Delivery) Verdict

// Queue delivers jobs at least once: a job is delivered until a verdict ends it, again
// after its consumer died, and possibly to two consumers in a row if the first one stalls.
// Jobs come roughly in order of becoming due. One that is retried never holds up others.
// All methods are safe for concurrent use.
type Queue interface {
	// Enqueue adds a job. It is idempotent: a job that is in the queue, waiting or held,
	// is left as it is, its At included. A queue that keeps dead letters may leave those as
	// they are, too, and a queue of leases does. An error means that the job may or may not be
	// there. That of a job that is not valid ([Job.Check]) says so, and the job is not
	// there.
	Enqueue(ctx context.Context, j Job) error

	// Cancel takes a job out of the queue that nobody holds, whatever its At says. One
	// that is held, dead, or not there is left as it is, and there is no error. Once the
	// job is out, it can be added anew. A queue that cannot do it returns
	// errors.ErrUnsupported: then the job comes, and its consumer sees that there is
	// nothing left to do.
	Cancel(ctx context.Context, j Job) error

	// Consume hands jobs to handle until ctx ends: as many as are due at a time, but never
	// more than opts.Workers. Then it takes no more, waits for the running calls of
	// handle, applies their verdicts and returns nil. It returns an error only if it
	// cannot go on, or if opts has no kinds. A passing failure of the backend is waited
	// out.
	//
	// There may be any number of consumers at a time. Those of different kinds run side by
	// side, and those of one kind share its jobs.
	//
	// A queue that knows organizations apart, as a queue of leases does, serves them in turn.
	// While one organization has all workers, of which there are two or more, one job of
	// another organization is handed out besides them, so that it need not wait for a long
	// one to end.
	//
	// The context given to handle carries ctx's values. It does not end with ctx, but with
	// the delivery: when the lease is lost, its cause is [ErrLeaseLost], and the verdict
	// is ignored.
	Consume(ctx context.Context, opts ConsumeOptions, handle Handler) error
}

// ConsumeOptions say what a consumer takes.
type ConsumeOptions struct {
	Kinds   []string // the jobs of these kinds, at least one
	Workers int      // calls of handle at a time: 1

	// PerOrganization is how many calls of handle there may be at a time for the jobs of one
	// organization. 0: no bound but Workers. It is a hint: a queue of leases claims no job of
	// an organization that has so many, and a queue that does not know organizations apart
	// ignores it. A handler that must not exceed the bound gives such a job back.
	PerOrganization int

	// MaxHandle is the longest time that handle takes. A broker that cannot be told that
	// a delivery is still being handled waits for so long before it delivers the job
	// again. 0: nobody knows.
	MaxHandle time.Duration
}

// StepQueue is a Queue that can be driven by hand, for tests and simulations.
type StepQueue interface {
	Queue

	// ConsumeOne takes one job of the kinds that is due now, calls handle on the caller's
	// goroutine, with a context that carries ctx's values, and applies the verdict. It
	// reports false if no job was due. Without kinds it returns an error.
	ConsumeOne(ctx context.Context, kinds []string, handle Handler) (bool, error)
}

// Sharer is a Queue, or Leases, whose jobs may stand in the database of a domain's store.
//
// Such a store has methods that write and add a job, or write and remove one, in one
// transaction: trigger.TxStore and audiosearch.TxStore. A service uses them if Shares says
// so. Otherwise it takes two steps, and looks for what a crash between them left behind, and
// for jobs that the queue has lost. It does not look where the jobs are beside the work:
// before a host moves to a queue that shares, or from one, it lets the old one run empty.
type Sharer interface {
	// Shares reports whether store, which is the Store of a domain, adds and removes jobs
	// of this queue by the methods of its TxStore. A store that a host has wrapped in a
	// type of its own is not recognized: its methods must not be passed by.
	Shares(store any) bool
}

// HostTx is an optional ability of a Store: its calls can be part of a transaction of the
// host's, as by sqlite.DB.InTx, postgres.InTx and, for tests, memory.DB.InTx. Where the queue
// is elsewhere, nothing is to be queued before that is committed. No invitation is delivered
// before, and no Observer hears of a change. A service does not remember what it sees there.
type HostTx interface {
	// AfterCommit reports whether calls under ctx are part of a transaction of the host's.
	// If they are, f is called once that is committed, with a context that is not part of
	// it, and never if it is rolled back. A store that does not learn of the commit does
	// not call f at all: then a sweeper does its work, if there is any. f may be nil: then
	// it only reports.
	AfterCommit(ctx context.Context, f func(ctx context.Context)) bool
}

// Transactor is an optional ability of a Store: it has transactions in which a function of the
// host's writes its own tables. sqlite.HostTx and postgres.HostTx give the function the
// transaction.
type Transactor interface {
	// Transact calls do with a context under which the calls of the Store, and of all else in
	// its database, are part of one transaction of an organization. It commits the
	// transaction if do returns nil. If do returns an error, panics or ends its goroutine, or
	// if its context ends before it returns, the transaction is rolled back, and
	// errors.Is finds the error. The context ends when the time is over that the Store gives a
	// transaction, if it has such a bound.
	//
	// Any other error leaves open whether the transaction was committed. Transact may call
	// do again after a rollback, and never after a commit. Within a transaction of the
	// host's it is an error.
	Transact(ctx context.Context, org string, do func(ctx context.Context) error) error
}

// LossReporter is a Queue, or Leases, that may notice that it has lost jobs: its stream
// was made anew, say, or a backup of it was put back.
type LossReporter interface {
	// LostJobs returns a time such that jobs which were added before may be gone, the
	// latest that it knows; zero if it knows of no loss. Whoever added them looks for
	// those that are not done and adds them again.
	LostJobs(ctx context.Context) (before time.Time, err error)
}
