package memory

import (
	"strings"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/columnar"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// audioRows is what is searched of a dataset. Each video has a row.
type audioRows struct {
	videos  []*audioVideo // by row; nil: the row is free
	ids     []string      // of the videos, by row: results name them, without a look at each
	free    []uint32
	columns columnar.Columns
	scores  map[string]*columnar.Scores // by model
	tried   map[string]int              // how many videos have a scoring by each model
}

// count takes down that a video has a scoring by a model, or that it has none any more.
func (r *audioRows) count(model string, change int) {
	if r.tried == nil {
		r.tried = make(map[string]int)
	}
	if r.tried[model] += change; r.tried[model] == 0 {
		delete(r.tried, model)
	}
}

// put stores a video instead of that of the same ID.
func (d *audioDataset) put(v audiosearch.Video) {
	stored, ok := d.videos[v.ID]
	switch {
	case !ok:
		stored = &audioVideo{}
		d.videos[v.ID] = stored
		d.rows.add(stored)
	case stored.video.Path != v.Path:
		d.rows.removeScores(stored)
	}
	stored.video = v
	d.rows.ids[stored.row] = v.ID
	d.rows.columns.Set(stored.row, v.Metadata)
}

func (r *audioRows) add(v *audioVideo) {
	if n := len(r.free); n > 0 {
		v.row, r.free = r.free[n-1], r.free[:n-1]
		r.videos[v.row] = v
		return
	}
	v.row = uint32(len(r.videos))
	r.videos, r.ids = append(r.videos, v), append(r.ids, "")
}

func (r *audioRows) remove(v *audioVideo) {
	r.removeScores(v)
	r.columns.Remove(v.row)
	r.videos[v.row], r.ids[v.row] = nil, ""
	r.free = append(r.free, v.row)
}

func (r *audioRows) removeScores(v *audioVideo) {
	for _, s := range v.scorings {
		r.setScores(v, s.Model, nil, nil)
		r.count(s.Model, -1)
	}
	v.scorings, v.parts = nil, nil
}

// setScores replaces the scores of a video by a model; nil removes them.
func (r *audioRows) setScores(v *audioVideo, model string, classes []sound.Class, columns [][]uint16) {
	scores, ok := r.scores[model]
	if !ok {
		scores = &columnar.Scores{}
	}
	if scores.Put(v.row, classes, columns); scores.Len() == 0 {
		delete(r.scores, model)
		return
	}
	if r.scores == nil {
		r.scores = make(map[string]*columnar.Scores)
	}
	r.scores[model] = scores
}

// order compares the IDs of videos.
func (r *audioRows) order(a, b uint32) int {
	return strings.Compare(r.ids[a], r.ids[b])
}
