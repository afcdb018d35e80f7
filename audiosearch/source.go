package audiosearch

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// source is the scores that a search reads: those by one model.
type source struct {
	model  string      // its ID
	scorer *plug       // scores what is missing; nil: what is stored has to do
	m      sound.Model // of the scorer

	// change makes the scorer's model the current one of its family, if it is not yet. A
	// model that takes the place of another one has to score as much first.
	change *ModelChange

	// outdated: a scorer has a newer model of the family. The dataset waits for that to
	// score what the present one has.
	outdated bool
}

// datasetModels are the models that a dataset knows.
type datasetModels []DatasetModel

// current returns the current model of a family, or nil.
func (ms datasetModels) current(family string) *DatasetModel {
	i := slices.IndexFunc(ms, func(m DatasetModel) bool { return m.Current && m.Family == family })
	if i < 0 {
		return nil
	}
	return &ms[i]
}

// find returns a model by its ID, or nil.
func (ms datasetModels) find(id string) *DatasetModel {
	i := slices.IndexFunc(ms, func(m DatasetModel) bool { return m.ID == id })
	if i < 0 {
		return nil
	}
	return &ms[i]
}

// replaced reports whether another model has taken the place of this one.
func (ms datasetModels) replaced(id string) bool {
	m := ms.find(id)
	return m != nil && !m.Current && !m.ReplacedAt.IsZero()
}

// has reports whether there are scores of a class. m may be nil.
func (m *DatasetModel) has(c sound.Class) bool { return m != nil && slices.Contains(m.Classes, c) }

// models returns the models that a dataset knows.
func (s *Service) models(ctx context.Context, org, dataset string) (datasetModels, error) {
	found, err := s.store.Models(ctx, org, dataset)
	return found, ofDataset(dataset, unavailable("look for the models of a dataset", err))
}

// passed reports whether a model is not to score a dataset any more: another one has
// taken its place there, or a newer one of its family was there first.
func (s *Service) passed(ctx context.Context, known datasetModels, m *sound.Model) (bool, error) {
	current := known.current(m.Family)
	switch {
	case known.replaced(m.ID):
		return true, nil
	case current == nil || current.ID == m.ID:
		return false, nil
	}
	theirs, err := s.order(ctx, m.Family, current.ID)
	if err != nil {
		return false, err
	}
	ours, err := s.order(ctx, m.Family, m.ID)
	return ours < theirs, err
}

// order is ModelOrder of the store, which never changes.
func (s *Service) order(ctx context.Context, family, model string) (int64, error) {
	key := [2]string{family, model}
	if place, ok := s.orders.Load(key); ok {
		return place.(int64), nil
	}
	place, err := s.store.ModelOrder(ctx, family, model)
	if err != nil {
		return 0, unavailable("look for the order of models", err)
	}
	s.orders.Store(key, place)
	return place, nil
}

// choose finds the scores that a search is to read. A model that was replaced scores
// nothing: what it made would be removed again ([CompactOptions]), and made again for
// each search. ask returns the model of a scorer, or why it is away. If the query cannot
// be met, problem says so, and err is nil.
func (s *Service) choose(
	ctx context.Context, q *Query, known datasetModels, ask func(*plug, context.Context) (sound.Model, error),
) (src source, problem *mortise.Problem, err error) {
	if q.Model != "" {
		return s.chooseModel(ctx, q, known, ask)
	}
	var away error
	var lists [][]sound.Class // of classes that can be found
	past := false             // the class could be, before
	for _, p := range s.plugs {
		m, failure := ask(p, ctx)
		if ctx.Err() != nil {
			return src, nil, context.Cause(ctx)
		}
		there := failure == nil
		if !there {
			var heard bool
			if m, heard = p.last(); !heard {
				away = failure
				continue
			}
		}
		current, predicts := known.current(m.Family), m.Predicts(q.Class)
		passed, err := s.passed(ctx, known, &m)
		if err != nil {
			return src, nil, err
		}
		if !passed {
			lists = append(lists, m.Classes)
		}
		switch {
		case there && predicts && current == nil:
			return source{model: m.ID, scorer: p, m: m, change: &ModelChange{Family: m.Family, To: m.ID}}, nil, nil
		case there && predicts && current.ID == m.ID:
			return source{model: m.ID, scorer: p, m: m}, nil, nil
		case current.has(q.Class):
			return source{model: current.ID, outdated: there && current.ID != m.ID && !passed}, nil, nil
		case there && predicts && !passed:
			return source{model: m.ID, scorer: p, m: m,
				change: &ModelChange{Family: m.Family, From: current.ID, To: m.ID}}, nil, nil
		case predicts && known.find(m.ID).has(q.Class):
			return source{model: m.ID}, nil, nil
		case predicts && passed:
			past = true
		case predicts && !there:
			away = failure
		}
	}
	for i := range known {
		m := &known[i]
		if !m.Current {
			continue
		}
		if m.has(q.Class) {
			return source{model: m.ID}, nil, nil
		}
		lists = append(lists, m.Classes)
	}
	switch {
	case away != nil:
		return src, nil, away
	case past:
		return src, &mortise.Problem{Path: mortise.Path{{Field: "audio_class"}}, Kind: ProblemUnsupportedClass,
			Message: "cannot be found any more: the dataset has a newer model than the one that knows it; UseModel brings that back"}, nil
	}
	return src, unsupported(q.Class, slices.Concat(lists...)), nil
}

// chooseModel is choose for a query that names a model.
func (s *Service) chooseModel(
	ctx context.Context, q *Query, known datasetModels, ask func(*plug, context.Context) (sound.Model, error),
) (src source, problem *mortise.Problem, err error) {
	for _, p := range s.plugs {
		m, failure := ask(p, ctx)
		if ctx.Err() != nil {
			return src, nil, context.Cause(ctx)
		}
		if failure != nil {
			err = failure // it may be its model
		} else if m.ID == q.Model && m.Predicts(q.Class) && !known.replaced(m.ID) {
			return source{model: m.ID, scorer: p, m: m}, nil, nil
		}
	}
	stored := known.find(q.Model)
	switch {
	case stored.has(q.Class):
		return source{model: q.Model}, nil, nil
	case err != nil:
		return src, nil, err
	case stored != nil && stored.Classes != nil:
		return src, &mortise.Problem{Path: mortise.Path{{Field: "audio_class"}}, Kind: ProblemUnsupportedClass,
			Message: "cannot be found by this model, which knows: " + classNamesOf(stored.Classes)}, nil
	}
	if known.replaced(q.Model) {
		return src, &mortise.Problem{Path: mortise.Path{{Field: "model"}}, Kind: "",
			Message: "was replaced in the dataset, and its scores are gone; UseModel brings it back"}, nil
	}
	return src, &mortise.Problem{Path: mortise.Path{{Field: "model"}}, Kind: "",
		Message: "is the model of no scorer here, and the dataset has no scores by it"}, nil
}

// unsupported says which classes can be found, and which of them may be meant.
func unsupported(class sound.Class, classes []sound.Class) *mortise.Problem {
	slices.Sort(classes)
	classes = slices.Compact(classes)
	message := "cannot be found by this server, which knows: " + classNamesOf(classes)
	if len(classes) == 0 {
		message = "cannot be found: no video of the dataset has been scored, and this server has no scorer"
	}
	if near := sound.Nearest(string(class), classes); near != "" {
		message += fmt.Sprintf("; did you mean %q?", near)
	}
	return &mortise.Problem{Path: mortise.Path{{Field: "audio_class"}}, Kind: ProblemUnsupportedClass, Message: message}
}

// inOrder returns the current models of a dataset: first those of the families of the
// service's scorers, in their order.
func (s *Service) inOrder(known datasetModels) []DatasetModel {
	var current []DatasetModel
	for _, p := range s.plugs {
		if m, ok := p.last(); ok {
			if c := known.current(m.Family); c != nil {
				current = append(current, *c)
			}
		}
	}
	for _, m := range known {
		if m.Current && !slices.ContainsFunc(current, func(c DatasetModel) bool { return c.ID == m.ID }) {
			current = append(current, m)
		}
	}
	return current
}
