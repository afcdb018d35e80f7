package mortise

import (
	"context"
	"encoding/binary"
)

// JobTable is the table of jobs of a database, with its dead letters: the result of DB.Jobs
// of packages storage/sqlite and storage/postgres. The Jobs of storage/memory are
// one, too.
type JobTable interface {
	Leases
	DeadJobs
}

// DeadJobs is an optional ability of Leases: it lists, counts and retries the dead letters that
// [Holder].Remove has kept, of any kind. It is maintenance: a list or a count is of all
// organizations, and a host must not make it reachable for its users.
//
// A dead job stays until it is revived, or until its domain removes it: trigger when the event
// is pruned, each domain when the organization is deleted. To drop one of a kind of your own,
// call Revive and then Cancel in one transaction, such as sqlite.DB.InTx.
//
// A [Queue] on a broker has no such list. The broker's own tools show its dead jobs, and
// Enqueue adds one anew.
type DeadJobs interface {
	// ListDead returns a page of the dead jobs of a kind, the lowest Number first. limit is 1
	// to [MaxPageSize]. Another limit is a [*ValidationError] at "limit".
	ListDead(ctx context.Context, kind string, after Cursor, limit int) (Page[DeadJob], error)

	// CountDead counts the dead jobs of a kind. The count is exact up to most (over 0), and
	// else it is most and More.
	CountDead(ctx context.Context, kind string, most int) (Count, error)

	// Revive makes a dead job claimable from now on, with the trace that it was added
	// with. It comes behind the jobs that are claimable by then, and its Deliveries begin
	// anew: a consumer that gives up after some deliveries tries as often again. A
	// consumer that waits is woken as by Add. A revived job of an event or a search that
	// has ended is removed by the next worker: package trigger has Retry for events. A
	// job that is not dead, or not there, is left as it is, and there is no error.
	Revive(ctx context.Context, j Job) error
}

// DeadJob is a job that its consumer has given up.
type DeadJob struct {
	Job        Job // its At is zero
	Deliveries int // how often it was claimed

	// Number is over 0. The table gives a job a number when it is added, and a new one when it is
	// released or revived: always greater than the numbers of all
	// other jobs.
	Number int64
}

// Position returns the place of a job in the list of the dead jobs of its kind.
func (d *DeadJob) Position() Position {
	return Position{ID: string(binary.BigEndian.AppendUint64(nil, uint64(d.Number)))}
}
