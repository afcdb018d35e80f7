package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// Compact implements [audiosearch.Pruner]. A step compacts a dataset's scores by one
// model. It passes over datasets that are in use: their searches may be long.
func (a *AudioSearch) Compact(ctx context.Context, opts audiosearch.CompactOptions) (more bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	a.db.mu.RLock()
	datasets := slices.Collect(maps.Values(a.db.audio.datasets))
	a.db.mu.RUnlock()
	return slices.ContainsFunc(datasets, func(d *audioDataset) bool { return d.compact(&opts) }), nil
}

func (d *audioDataset) compact(opts *audiosearch.CompactOptions) bool {
	if !d.mu.TryLock() {
		return false
	}
	defer d.mu.Unlock()
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
