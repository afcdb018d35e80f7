package custombackend

import (
	"context"
	"time"

	"github.com/seed-6363c74e/mortise"
)

// isDeleted reports whether an organization is marked. The caller holds mu.
func (f *File) isDeleted(org string) bool {
	_, marked := f.deleted[org]
	return marked
}

// MarkDeleted implements [trigger.Deletion].
func (f *File) MarkDeleted(ctx context.Context, org string, at time.Time) (time.Time, error) {
	if err := ctx.Err(); err != nil {
		return time.Time{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if since, marked := f.deleted[org]; marked {
		return since, nil
	}
	at = at.UTC()
	return at, f.commit(record{Deleted: map[string]time.Time{org: at}})
}

// RemoveDeleted implements [trigger.Deletion].
func (f *File) RemoveDeleted(ctx context.Context, org string, limit int) (n int, more bool, err error) {
	if err := ctx.Err(); err != nil {
		return 0, false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.isDeleted(org) {
		return 0, false, mortise.ErrNotFound
	}
	var r record
	for key, e := range f.events {
		if key.Org != org {
			continue
		}
		// Each generation had a job of its own.
		for e.Generation = max(e.Generation, 0); e.Generation >= 0; e.Generation-- {
			if j := keyOf(e.Job()); f.has(j) {
				r.Gone = append(r.Gone, j)
			}
		}
		if len(r.Gone)+len(r.Removed) >= limit {
			r.Gone = r.Gone[:max(limit-len(r.Removed), 0)]
			more = true
			break
		}
		r.Removed = append(r.Removed, key)
	}
	if n = len(r.Gone) + len(r.Removed); n == 0 {
		return 0, more, nil
	}
	if err := f.commit(r); err != nil {
		return 0, false, err
	}
	return n, more, nil
}

func (f *File) has(key jobKey) bool {
	_, ok := f.jobs[key]
	return ok
}
