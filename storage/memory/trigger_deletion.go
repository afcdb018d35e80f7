package memory

import (
	"context"
	"slices"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

// MarkDeleted implements [trigger.Deletion].
func (t *Trigger) MarkDeleted(ctx context.Context, org string, at time.Time) (time.Time, error) {
	db, err := t.db.write(ctx)
	if err != nil {
		return time.Time{}, err
	}
	defer db.end()
	since, marked := db.trigger.deleted[org]
	if !marked {
		since = at.UTC()
		db.trigger.deleted[org] = since
		db.revocations.count(at)
	}
	return since, nil
}

// RemoveDeleted implements [trigger.Deletion].
func (t *Trigger) RemoveDeleted(ctx context.Context, org string, limit int) (n int, more bool, err error) {
	db, err := t.db.write(ctx)
	if err != nil {
		return 0, false, err
	}
	defer db.end()
	tables := &db.trigger
	if !tables.isDeleted(org) {
		return 0, false, mortise.ErrNotFound
	}
	step := boundedStep{limit: limit}
	tables.removeKeys(org, &step)
	o, ok := tables.orgs[org]
	if !ok {
		return step.n, step.more, nil
	}
	if o.record != nil && step.takes(true) {
		o.record = nil
	}
	for len(o.order) > 0 && !step.more {
		newest := len(o.order) - 1
		e := o.order[newest]
		if db.forgetEventJobs(e, &step); step.takes(true) {
			tables.unindex(o, e)
			o.order = slices.Delete(o.order, newest, newest+1)
		}
	}
	if !step.more {
		delete(tables.orgs, org)
	}
	return step.n, step.more, nil
}

// isDeleted reports whether an organization is marked.
func (t *triggerTables) isDeleted(org string) bool {
	_, marked := t.deleted[org]
	return marked
}

// live returns the organization's part, unless there is none or it is marked.
func (t *triggerTables) live(org string) (*triggerOrg, bool) {
	if t.isDeleted(org) {
		return nil, false
	}
	o, ok := t.orgs[org]
	return o, ok
}

// removeKeys removes keys of an organization.
func (t *triggerTables) removeKeys(org string, step *boundedStep) {
	list := t.keyLists[org]
	for len(list) > 0 && step.takes(true) {
		last := len(list) - 1
		delete(t.keys, list[last].Digest)
		list = slices.Delete(list, last, last+1)
	}
	if t.keyLists[org] = list; len(list) == 0 {
		delete(t.keyLists, org)
	}
}

// forgetEventJobs removes jobs of an event, of all its generations.
func (t *tables) forgetEventJobs(e *trigger.Event, step *boundedStep) {
	j := *e
	for j.Generation = 0; j.Generation <= e.Generation; j.Generation++ {
		if job, ok := t.jobs.all[keyOf(j.Job())]; ok && step.takes(true) {
			t.jobs.drop(job)
		}
	}
}
