package audiosearch

import (
	"context"
	"errors"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// DatasetModel is a model that a dataset knows: it is or was the current one of its
// family, or videos were scored by it.
type DatasetModel struct {
	ID string

	// Family is whose current model it is, or was last; "": it never was. If it is that
	// of several families, Family is one of them.
	Family string

	Current    bool      // searches read its scores
	ReplacedAt time.Time // when another one took its place; zero: none has

	// Classes are those that its latest scoring has scores of, or another one if that is
	// gone. They are for reading only. nil: there are no scores.
	Classes []sound.Class
}

// Models returns the models that a dataset knows, by ID. Searches read the scores by
// the current ones, one for each [sound.Model.Family]. A new model takes the place of
// the current one in one step, once it has scored every video that the current one has:
// [Service.Ingest] sees to that, and so does a [Sweeper] after the first search that
// finds a new model.
func (s *Service) Models(ctx context.Context, org, dataset string) ([]DatasetModel, error) {
	return s.models(ctx, org, dataset)
}

// UseModel makes a model the current one of its family in a dataset, though it may lack
// videos that the present one has scored. It is the way back: a model that was replaced
// does not return by itself, so that two services with different models of a family do
// not undo each other's work. The model must be that of a scorer here, or have been a
// current one of the dataset; otherwise the error is a [*mortise.ValidationError].
//
// A model whose scorer is gone answers with what it has scored. So when the way back is
// to last, bring back its scorer, too: one with the replaced model scores nothing there.
func (s *Service) UseModel(ctx context.Context, org string, by mortise.Actor, dataset, model string) error {
	const tries = 3 // others may change it at the same time
	for try := 1; ; try++ {
		known, err := s.models(ctx, org, dataset)
		if err != nil {
			return err
		}
		family := ""
		if m := known.find(model); m != nil {
			family = m.Family
		}
		for _, p := range s.plugs {
			if m, err := p.quick(ctx); err == nil && m.ID == model {
				family = m.Family
			}
		}
		if family == "" {
			var p problems
			p.add("model", "", "is the model of no scorer here, and was never a current one of the dataset")
			return p.Err()
		}
		c := ModelChange{Family: family, To: model, At: s.now(), Incomplete: true}
		if current := known.current(family); current != nil {
			c.From = current.ID
		}
		if c.From == c.To {
			return nil
		}
		if err = s.store.SetModel(ctx, org, dataset, c); err == nil || !errors.Is(err, ErrConflict) || try == tries {
			return unavailable("change the model of a dataset", err)
		}
	}
}

// change makes a model current if it may be, and reports whether it is. It is not if
// others were faster, or if it has scored less than the one before.
func (s *Service) change(ctx context.Context, org, dataset string, c ModelChange) (bool, error) {
	c.At = s.now()
	if _, err := s.order(ctx, c.Family, c.To); err != nil { // from now on it is not the newest one
		return false, err
	}
	err := s.store.SetModel(ctx, org, dataset, c)
	switch {
	case errors.Is(err, ErrConflict):
		return false, nil
	case err != nil:
		return false, unavailable("change the model of a dataset", err)
	}
	if c.From != "" {
		s.opts.Logger.InfoContext(ctx, "a dataset has a new model", "organization", org, "dataset", dataset,
			"family", c.Family, "model", c.To, "before", c.From)
	}
	return true, nil
}

// ready is a scorer that is to score a dataset.
type ready struct {
	scorer *plug
	m      sound.Model
	change *ModelChange // makes its model the current one; nil: it is
}

// toScore returns the scorers that a dataset needs, and why others are away. A model that
// is not to score it any more (see passed) is left alone: its scores would be made for
// nobody. So is one whose classes all belong to scorers before it.
func (s *Service) toScore(ctx context.Context, org, dataset string) (all []ready, away, err error) {
	known, err := s.models(ctx, org, dataset)
	if err != nil {
		return nil, nil, err
	}
	taken := make(map[sound.Class]bool)
	for _, p := range s.plugs {
		m, err := p.model(ctx)
		if err != nil {
			away = err
			if last, heard := p.last(); heard {
				take(taken, &last)
			}
			continue
		}
		if !take(taken, &m) {
			continue
		}
		r := ready{scorer: p, m: m}
		passed, err := s.passed(ctx, known, &m)
		if err != nil {
			return nil, nil, err
		}
		switch current := known.current(m.Family); {
		case passed:
			s.opts.Logger.WarnContext(ctx, "the dataset has a newer model than a scorer, so that scores nothing there; "+
				"Service.UseModel brings it back", "organization", org, "dataset", dataset, "model", m.ID)
			continue
		case current == nil:
			if _, err := s.change(ctx, org, dataset, ModelChange{Family: m.Family, To: m.ID}); err != nil {
				return nil, nil, err
			}
		case current.ID != m.ID:
			r.change = &ModelChange{Family: m.Family, From: current.ID, To: m.ID}
		}
		all = append(all, r)
	}
	return all, away, nil
}

// take gives a model the classes that nobody has yet, and reports whether there are any.
func take(taken map[sound.Class]bool, m *sound.Model) (some bool) {
	for _, c := range m.Classes {
		if !taken[c] {
			taken[c], some = true, true
		}
	}
	return some
}
