package audiosearchtest

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// setModel changes a current model, most often from the one that it is.
func (r *run) setModel() {
	if r.subject.Models == nil {
		return
	}
	p := r.place()
	known := r.known[p]
	c := audiosearch.ModelChange{Family: pick(r, "f", "f", "g"), At: r.Clock.Now(), Incomplete: r.IntN(2) == 0}
	if c.From = known.current[c.Family]; r.IntN(6) == 0 {
		c.From = pick(r, "", modelX, modelY)
	}
	for c.To = c.From; c.To == c.From; {
		c.To = pick(r, modelX, modelY, "z/1")
	}
	r.Say("in %v the model of family %s changes from %q to %q, incomplete: %v", p, c.Family, c.From, c.To, c.Incomplete)
	want := error(nil)
	if known.current[c.Family] != c.From || c.From != "" && !c.Incomplete && r.model[p].lacks(c.From, c.To) {
		want = audiosearch.ErrConflict
	}
	if r.SameError(want, r.subject.Models.SetModel(r.Context(), p.org, p.dataset, c)) {
		known.set(c)
	}
}

// compareModels compares what a dataset knows of models. Of a model that has made nothing
// but problems, the contract does not say.
func (r *run) compareModels(p place) {
	if r.subject.Models == nil {
		return
	}
	r.Say("in %v the models are listed", p)
	got, err := r.subject.Models.Models(r.Context(), p.org, p.dataset)
	r.SameError(nil, err)
	known := r.known[p]
	for _, id := range []string{modelX, modelY, "z/1"} {
		at := slices.IndexFunc(got, func(m audiosearch.DatasetModel) bool { return m.ID == id })
		tried, scored := r.model[p].by(id)
		families := known.families(id)
		former, replaced := known.replaced[id]
		switch {
		case at < 0 && (scored || len(families) > 0 || replaced):
			r.Fatalf("Models: %s is not there", id)
		case at < 0:
			continue
		case !tried && len(families) == 0 && !replaced:
			r.Fatalf("Models: nobody knows %s", id)
		}
		m := got[at]
		r.Same("Current of "+id, len(families) > 0, m.Current)
		r.Same("whether there are classes of "+id, scored, len(m.Classes) > 0)
		r.Same("when "+id+" was replaced", former.at.UnixMicro(), m.ReplacedAt.UnixMicro())
		switch {
		case len(families) > 0 && !slices.Contains(families, m.Family):
			r.Fatalf("Models: the family of %s is %q, and not in %q", id, m.Family, families)
		case len(families) == 0:
			r.Same("the family of "+id, former.family, m.Family)
		}
	}
	for i := range got[min(1, len(got)):] {
		if got[i].ID >= got[i+1].ID {
			r.Fatalf("Models: %q comes before %q", got[i].ID, got[i+1].ID)
		}
	}
}

// cutOff returns a time for Compact to remove what was before, often none.
func (r *run) cutOff() time.Time {
	if r.IntN(2) == 0 {
		return time.Time{}
	}
	return r.Clock.Now().Add(pick(r, time.Minute, 0, -time.Second, -2*time.Second, -5*time.Second, -15*time.Second))
}

// compact does some steps, if the backend is a Pruner: all that there are, if they
// remove something that others can see.
func (r *run) compact() {
	c, ok := r.subject.Scores.(audiosearch.Pruner)
	if !ok {
		return
	}
	opts := audiosearch.CompactOptions{PartsBefore: r.cutOff(), ReplacedBefore: r.cutOff()}
	r.Say("it is compacted: parts before %v, replaced ones before %v", opts.PartsBefore, opts.ReplacedBefore)
	type parts struct {
		p         place
		id, model string
		o         *oracleParts
	}
	var before []parts
	r.everyPart(func(p place, id, model string, o *oracleParts) { before = append(before, parts{p, id, model, o}) })
	steps := 1 + r.IntN(5)
	if !opts.PartsBefore.IsZero() || !opts.ReplacedBefore.IsZero() {
		steps = 10_000
	}
	for n := range steps {
		_, more, err := c.Compact(r.Context(), opts, 1000)
		if r.SameError(nil, err); !more {
			break
		}
		if n == 9999 {
			r.SameError(nil, errors.New("there is always more"))
		}
	}
	for p, d := range r.model {
		for _, v := range d {
			maps.DeleteFunc(v.parts, func(_ string, o *oracleParts) bool { return o.used.Before(opts.PartsBefore) })
			for id, former := range r.known[p].replaced {
				if former.at.Before(opts.ReplacedBefore) {
					delete(v.scorings, id)
				}
			}
		}
	}
	for _, was := range before {
		// Whether the parts of such a model go with its scores, the contract does not say.
		former, replaced := r.known[was.p].replaced[was.model]
		if replaced && former.at.Before(opts.ReplacedBefore) {
			v := r.model[was.p][was.id]
			part := r.part(was.id, v, was.model, was.o, 0)
			stored, err := r.subject.Parts.Parts(r.Context(), was.p.org, was.p.dataset, part)
			if r.SameError(nil, err); stored == 0 {
				delete(v.parts, was.model)
			}
		}
		r.countParts(was.p, was.id, was.model, was.o)
	}
	if !opts.ReplacedBefore.IsZero() {
		for _, p := range places() {
			r.compareBatches(p, r.model[p].matching(nil))
		}
	}
}
