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
	}
	return since, nil
}

// RemoveDeleted implements [trigger.Deletion].
func (t *Trigger) RemoveDeleted(ctx context.Context, org string, limit int) (more bool, err error) {
	db, err := t.db.write(ctx)
	if err != nil {
		return false, err
	}
	defer db.end()
	tables := &db.trigger
	if !tables.isDeleted(org) {
		return false, mortise.ErrNotFound
	}
	limit -= tables.removeKeys(org, limit)
	o, ok := tables.orgs[org]
	if !ok {
		return len(tables.keyLists[org]) > 0, nil
	}
	if limit > 0 {
		o.record = nil
	}
	for limit > 0 && len(o.order) > 0 {
		newest := len(o.order) - 1
		e := o.order[newest]
		if limit -= db.forgetEventJobs(e, limit); limit > 0 {
			tables.unindex(o, e)
			o.order = slices.Delete(o.order, newest, newest+1)
			limit--
		}
	}
	if limit > 0 {
		delete(tables.orgs, org)
	}
	return limit <= 0, nil
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

// removeKeys removes keys of an organization, and returns how many.
func (t *triggerTables) removeKeys(org string, limit int) int {
	list := t.keyLists[org]
	left := len(list) - min(len(list), max(limit, 0))
	for _, k := range list[left:] {
		delete(t.keys, k.Digest)
	}
	if removed := len(list) - left; left > 0 {
		clear(list[left:])
		t.keyLists[org] = list[:left]
		return removed
	}
	delete(t.keyLists, org)
	return len(list)
}

// forgetEventJobs removes jobs of an event, of all its generations, and returns how many.
func (t *tables) forgetEventJobs(e *trigger.Event, limit int) (removed int) {
	j := *e
	for j.Generation = 0; j.Generation <= e.Generation && removed < limit; j.Generation++ {
		if t.jobs.forget(j.Job()) {
			removed++
		}
	}
	return removed
}
