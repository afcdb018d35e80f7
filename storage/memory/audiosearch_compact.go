package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// Compact implements [audiosearch.Pruner]. A step compacts a dataset's scores by one
// model. It passes over datasets that are in use: their searches may be long.
func (a *AudioSearch) Compact(ctx context.Context, opts audiosearch.CompactOptions, limit int) (n int, more bool, err error) {
	datasets, own, err := a.toCompact(ctx)
	if err != nil || limit <= 0 {
		return 0, true, err
	}
	if slices.ContainsFunc(datasets, func(d *audioDataset) bool {
		return d.compact(&opts, func() bool { return own || a.db.has(d) })
	}) {
		return 1, true, nil
	}
	return 0, false, nil
}

// toCompact also reports whether the datasets are a transaction's own.
func (a *AudioSearch) toCompact(ctx context.Context) (datasets []*audioDataset, own bool, err error) {
	db, err := a.db.write(ctx)
	if err != nil {
		return nil, false, err
	}
	defer db.end()
	datasets = slices.Collect(maps.Values(db.audio.datasets))
	if db.tx != nil {
		for i, d := range datasets {
			datasets[i] = db.tx.owned(d)
		}
	}
	return datasets, db.tx != nil, nil
}

func (d *audioDataset) compact(opts *audiosearch.CompactOptions, may func() bool) bool {
	if !d.mu.TryLock() {
		return false
	}
	defer d.mu.Unlock()
	if !may() {
		return false
	}
	if d.dropParts(opts.PartsBefore) || d.dropReplaced(opts.ReplacedBefore) {
		return true
	}
	for _, scores := range d.rows.scores {
		if scores.Wasted() {
			scores.Compact()
			return true
		}
	}
	return false
}
