package memory

import (
	"context"
	"slices"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// audioParts is what is scored so far of a video by a model.
type audioParts struct {
	like    audiosearch.Part // the first one
	columns [][]uint16
	used    time.Time
}

// windows returns how many there are.
func (p *audioParts) windows() int {
	if p == nil || len(p.columns) == 0 {
		return 0
	}
	return len(p.columns[0])
}

// fits reports whether a part is of the same scoring.
func (p *audioParts) fits(o *audiosearch.Part) bool {
	return p != nil && p.like.Media == o.Media && p.like.Digest == o.Digest && p.like.Window == o.Window && p.like.Hop == o.Hop &&
		slices.Equal(p.like.Classes, o.Classes)
}

// parted calls f with the video of a part.
func (a *AudioSearch) parted(ctx context.Context, org, dataset string, p *audiosearch.Part, f func(v *audioVideo) error) error {
	return a.write(ctx, org, dataset, func(d *audioDataset) error {
		v, ok := d.videos[p.Video]
		if !ok || v.video.Path != p.Path {
			return audiosearch.ErrConflict
		}
		if d.parted == nil {
			d.parted = make(map[string]bool)
		}
		d.parted[p.Video] = true
		return f(v)
	})
}

// PutPart implements [audiosearch.PartStore].
func (a *AudioSearch) PutPart(ctx context.Context, org, dataset string, p audiosearch.Part, columns [][]uint16) (stored int, err error) {
	p.Classes = slices.Clone(p.Classes)
	err = a.parted(ctx, org, dataset, &p, func(v *audioVideo) error {
		parts := v.parts[p.Model]
		if !parts.fits(&p) {
			parts = &audioParts{like: p, columns: make([][]uint16, len(p.Classes))}
		}
		if p.First > parts.windows() {
			return audiosearch.ErrConflict
		}
		parts.used = p.At
		if p.First == parts.windows() {
			for i, column := range columns {
				parts.columns[i] = append(parts.columns[i], column...)
			}
			if v.parts == nil {
				v.parts = make(map[string]*audioParts)
			}
			v.parts[p.Model] = parts
		}
		stored = parts.windows()
		return nil
	})
	return stored, err
}

// Parts implements [audiosearch.PartStore].
func (a *AudioSearch) Parts(ctx context.Context, org, dataset string, p audiosearch.Part) (stored int, err error) {
	err = a.parted(ctx, org, dataset, &p, func(v *audioVideo) error {
		if parts := v.parts[p.Model]; parts.fits(&p) {
			parts.used, stored = p.At, parts.windows()
		}
		return nil
	})
	return stored, err
}

// joined returns the columns of a scoring, whose last windows are given, with those of the
// parts before them; nil if these are not there.
func (v *audioVideo) joined(s *audiosearch.Scoring, columns [][]uint16) [][]uint16 {
	if len(columns) == 0 || len(columns[0]) == s.Windows {
		return columns
	}
	parts := v.parts[s.Model]
	like := audiosearch.Part{Media: s.Media, Digest: s.Digest, Window: s.Window, Hop: s.Hop, Classes: s.Classes}
	before := s.Windows - len(columns[0])
	if !parts.fits(&like) || before < 0 || parts.windows() < before {
		return nil
	}
	all := make([][]uint16, len(columns))
	for i := range all {
		all[i] = append(parts.columns[i][:before:before], columns[i]...)
	}
	return all
}

// dropParts removes parts that nobody has used since a time.
func (d *audioDataset) dropParts(before time.Time) bool {
	dropped := false
	for id := range d.parted {
		v := d.videos[id]
		if v == nil || len(v.parts) == 0 {
			delete(d.parted, id)
			continue
		}
		for model, parts := range v.parts {
			if parts.used.Before(before) {
				delete(v.parts, model)
				dropped = true
			}
		}
	}
	return dropped
}
