package audiosearchtest

import (
	"slices"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// scores returns random scores of some segments, by class.
func (r *run) scores(windows, classes, highest int) [][]uint16 {
	all := make([][]uint16, classes)
	for c := range all {
		all[c] = make([]uint16, windows)
		for i := range all[c] {
			all[c][i] = uint16(r.IntN(highest))
		}
	}
	return all
}

// someClasses returns some of the classes, in any order.
func (r *run) someClasses() []sound.Class {
	classes := conformance.Shuffled(r, modelClasses())
	return classes[:1+r.IntN(len(classes))]
}

// part returns the part of a video that is made of one of the oracle's.
func (r *run) part(id string, v *oracleVideo, model string, o *oracleParts, first int) audiosearch.Part {
	at := audiosearch.Video{ID: id, Path: "x.mp4"}
	if v != nil {
		at.Path = v.path
	}
	sc := scoring(model, 1, o.classes...)
	sc.Digest = [32]byte{o.digest}
	p := partOf(at, sc, first)
	p.At = r.Clock.Now()
	return p
}

// parted returns a video and a model that there are parts of, if there are any.
func (r *run) parted(p place) (id, model string, ok bool) {
	var found [][2]string
	for _, id := range r.model[p].matching(nil) {
		for _, model := range []string{modelX, modelY} {
			if r.model[p][id].parts[model] != nil {
				found = append(found, [2]string{id, model})
			}
		}
	}
	if len(found) == 0 {
		return "", "", false
	}
	one := pick(r, found...)
	return one[0], one[1], true
}

// putPart stores a part, most often one that goes on with what stands there.
func (r *run) putPart() {
	if r.subject.Parts == nil {
		return
	}
	p := r.place()
	id, model, ok := r.parted(p)
	if !ok || r.IntN(3) == 0 {
		id, model = r.video(p), pick(r, modelX, modelX, modelY)
	}
	v := r.model[p][id]
	given := &oracleParts{digest: byte(r.IntN(2)), classes: r.someClasses()}
	var stands *oracleParts
	if v != nil {
		stands = v.parts[model]
	}
	if stands != nil && r.IntN(5) > 0 {
		given.digest, given.classes = stands.digest, stands.classes
	}
	have := stands.like(given)
	first, n := have, 1+r.IntN(1<<r.IntN(6))
	if r.IntN(6) == 0 {
		first = r.IntN(have + 3)
	}
	columns := r.scores(n, len(given.classes), 1<<r.IntN(17))
	r.Say("in %v segments %d to %d of video %q by %s are put, digest %d, classes %q", p, first, first+n, id, model, given.digest, given.classes)
	want := error(nil)
	if v == nil || first > have {
		want = audiosearch.ErrConflict
	}
	part := r.part(id, v, model, given, first)
	stored, err := r.subject.Parts.PutPart(r.Context(), p.org, p.dataset, part, cut(columns, 0, n))
	if !r.SameError(want, err) {
		return
	}
	if first == have {
		if have == 0 {
			given.columns = make([][]uint16, len(columns))
			stands, v.parts[model] = given, given
		}
		for c := range columns {
			stands.columns[c] = append(stands.columns[c], columns[c]...)
		}
		have += n
	}
	stands.used = part.At
	r.Same("how many segments stand in parts", have, stored)
}

// flip makes a scoring of parts, now and then one that they are not of.
func (r *run) flip() {
	p := r.place()
	id, model, ok := r.parted(p)
	if !ok {
		return
	}
	v := r.model[p][id]
	stands, more := v.parts[model], r.IntN(12)
	have := stands.like(stands)
	s := &oracleScoring{scoring: scoring(model, have+more, stands.classes...)}
	s.scoring.Digest, s.scoring.At = [32]byte{stands.digest}, r.Clock.Now()
	rest := r.scores(more, len(stands.classes), 1<<r.IntN(17))
	for c := range rest {
		s.columns = append(s.columns, slices.Concat(stands.columns[c], rest[c]))
	}
	want := error(nil)
	switch r.IntN(6) {
	case 0:
		s.scoring.Digest[0]++
		want = audiosearch.ErrConflict
	case 1:
		s.scoring.Windows++
		want = audiosearch.ErrConflict
	}
	r.Say("in %v video %q is scored by %s with %d segments in parts, %d more, %d in all, digest %d", p, id, model, have, more,
		s.scoring.Windows, s.scoring.Digest[0])
	err := r.subject.Scores.PutScoring(r.Context(), p.org, p.dataset, id, v.path, s.scoring, cut(rest, 0, more))
	if r.SameError(want, err) {
		v.scorings[model] = s
		delete(v.parts, model)
		r.countParts(p, id, model, stands)
	}
}

// compareParts asks how much of a video stands in parts, which counts as use.
func (r *run) compareParts(p place) {
	if r.subject.Parts == nil {
		return
	}
	id, model, ok := r.parted(p)
	if !ok || r.IntN(3) == 0 {
		id, model = r.video(p), pick(r, modelX, modelY)
	}
	v := r.model[p][id]
	asked := &oracleParts{digest: byte(r.IntN(2)), classes: r.someClasses()}
	var stands *oracleParts
	if v != nil {
		stands = v.parts[model]
	}
	if stands != nil && r.IntN(4) > 0 {
		asked = stands
	}
	r.Say("in %v the parts of video %q by %s are counted, digest %d, classes %q", p, id, model, asked.digest, asked.classes)
	r.countParts(p, id, model, asked)
}

// countParts asks how many segments of a video stand in parts like some.
func (r *run) countParts(p place, id, model string, asked *oracleParts) {
	v := r.model[p][id]
	want, have := error(audiosearch.ErrConflict), 0
	if v != nil {
		want, have = nil, v.parts[model].like(asked)
	}
	part := r.part(id, v, model, asked, r.IntN(50))
	stored, err := r.subject.Parts.Parts(r.Context(), p.org, p.dataset, part)
	if !r.SameError(want, err) {
		return
	}
	r.Same("how many segments of "+id+" stand in parts", have, stored)
	if have > 0 {
		v.parts[model].used = part.At
	}
}

// everyPart calls f for all parts that there are.
func (r *run) everyPart(f func(p place, id, model string, o *oracleParts)) {
	for _, p := range places() {
		for _, id := range r.model[p].matching(nil) {
			for _, model := range []string{modelX, modelY} {
				if o := r.model[p][id].parts[model]; o != nil {
					f(p, id, model, o)
				}
			}
		}
	}
}
