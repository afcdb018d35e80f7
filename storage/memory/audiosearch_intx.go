package memory

import (
	"maps"
	"math"
	"slices"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// owned returns the transaction's own copy of a dataset, which it makes before it first
// writes to it. It waits for the dataset's lock.
func (tx *hostTx) owned(d *audioDataset) *audioDataset {
	if tx.own[d] {
		return d
	}
	copied := d.clone()
	tx.own[copied] = true
	tx.tables.audio.datasets[d.id()] = copied
	return copied
}

// clone returns a copy of a dataset. It is made by the same steps as the dataset was, so the
// rows of videos may be others.
func (d *audioDataset) clone() *audioDataset {
	d.mu.RLock()
	defer d.mu.RUnlock()
	copied := &audioDataset{
		dataset: d.dataset, videos: make(map[string]*audioVideo, len(d.videos)), parted: maps.Clone(d.parted),
		models: audioModels{
			current: maps.Clone(d.models.current), replaced: maps.Clone(d.models.replaced), classes: maps.Clone(d.models.classes),
		},
	}
	for id, v := range d.videos {
		copied.put(v.video)
		twin := copied.videos[id]
		twin.scorings = slices.Clone(v.scorings)
		for _, s := range v.scorings {
			copied.rows.count(s.Model, 1)
			if scores := d.rows.scores[s.Model]; scores.Has(v.row) {
				classes := scores.Classes(v.row)
				copied.rows.setScores(twin, s.Model, classes, columnsOf(classes, scores.Windows(v.row, 0, math.MaxInt)))
			}
		}
		twin.parts = mapped(v.parts, func(p *audioParts) *audioParts {
			return &audioParts{like: p.like, columns: slices.Clone(p.columns), used: p.used}
		})
	}
	return copied
}

// columnsOf returns the scores of windows by class.
func columnsOf(classes []sound.Class, windows [][]uint16) [][]uint16 {
	columns := make([][]uint16, len(classes))
	for i := range columns {
		for _, scores := range windows {
			columns[i] = append(columns[i], scores[i])
		}
	}
	return columns
}
