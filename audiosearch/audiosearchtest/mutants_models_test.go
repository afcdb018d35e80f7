package audiosearchtest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// everyModel applies change to all models that the mutant returns.
func everyModel(change func(*audiosearch.DatasetModel)) func(*mutant) { return out(change, "Models") }

// everyModels applies change to all lists of models that the mutant returns.
func everyModels(change func(models []audiosearch.DatasetModel) []audiosearch.DatasetModel) func(*mutant) {
	return out(func(models *[]audiosearch.DatasetModel) { *models = change(*models) }, "Models")
}

// everyChange applies change to all changes of models that the mutant is given.
func everyChange(change func(*audiosearch.ModelChange)) func(*mutant) { return in(change, "SetModel") }

// current returns the current model of a family, or "".
func (m *mutant) current(ctx context.Context, org, dataset, family string) string {
	models, _ := m.db.Models(ctx, org, dataset)
	for _, d := range models {
		if d.Current && d.Family == family {
			return d.ID
		}
	}
	return ""
}

// tried makes the mutant go by its own idea of which videos a new model lacks.
func tried(lacks func(from, to *audiosearch.Scoring) bool) func(*mutant) {
	return replace("SetModel", func(m *mutant, ctx context.Context, org, dataset string, c audiosearch.ModelChange) error {
		videos, _ := m.videosOf(ctx, org, dataset)
		for _, v := range videos {
			scoringOf := func(model string) *audiosearch.Scoring {
				s, err := m.db.Scoring(ctx, org, dataset, v.ID, model)
				if err != nil {
					return nil
				}
				return &s
			}
			if c.From != "" && !c.Incomplete && lacks(scoringOf(c.From), scoringOf(c.To)) {
				return audiosearch.ErrConflict
			}
		}
		c.Incomplete = true
		return m.db.SetModel(ctx, org, dataset, c)
	})
}

var modelMutants = []broken{
	{name: "does not miss datasets of models", breaks: "models/no-dataset",
		mutate: replace("SetModel", func(m *mutant, ctx context.Context, org, dataset string, c audiosearch.ModelChange) error {
			err := m.db.SetModel(ctx, org, dataset, c)
			if errors.Is(err, audiosearch.ErrDatasetNotFound) {
				err = audiosearch.ErrConflict
			}
			return err
		})},
	{name: "knows a model from the start", breaks: "models/none parts/models-do-not-show",
		mutate: everyModels(func(models []audiosearch.DatasetModel) []audiosearch.DatasetModel {
			if len(models) == 0 {
				models = append(models, audiosearch.DatasetModel{ID: "default"})
			}
			return models
		})},
	{name: "sets models that have scores", breaks: "models/first",
		mutate: replace("SetModel", func(m *mutant, ctx context.Context, org, dataset string, c audiosearch.ModelChange) error {
			if u, err := m.db.Unscored(ctx, org, dataset, audiosearch.UnscoredQuery{Model: c.To, Limit: 1}); err == nil && u.Without > 0 {
				return audiosearch.ErrConflict
			}
			return m.db.SetModel(ctx, org, dataset, c)
		})},
	{name: "changes models whatever is current", breaks: "models/conflict models/set-concurrent",
		mutate: replace("SetModel", func(m *mutant, ctx context.Context, org, dataset string, c audiosearch.ModelChange) error {
			if now := m.current(ctx, org, dataset, c.Family); now != c.To {
				c.From = now
			}
			return m.db.SetModel(ctx, org, dataset, c)
		})},
	{name: "takes whoever is in a hurry at their word", breaks: "models/conflict",
		mutate: replace("SetModel", func(m *mutant, ctx context.Context, org, dataset string, c audiosearch.ModelChange) error {
			if now := m.current(ctx, org, dataset, c.Family); c.Incomplete && now != c.To {
				c.From = now
			}
			return m.db.SetModel(ctx, org, dataset, c)
		})},
	{name: "refuses and changes the model", breaks: "models/conflict",
		mutate: replace("SetModel", func(m *mutant, ctx context.Context, org, dataset string, c audiosearch.ModelChange) error {
			err := m.db.SetModel(ctx, org, dataset, c)
			if now := m.current(ctx, org, dataset, c.Family); errors.Is(err, audiosearch.ErrConflict) && now != "" && now != c.To {
				c.From = now
				_ = m.db.SetModel(ctx, org, dataset, c)
			}
			return err
		})},
	{name: "changes to models that lack videos", breaks: "models/incomplete models/never-scored models/incomplete-if-asked",
		mutate: everyChange(func(c *audiosearch.ModelChange) { c.Incomplete = true })},
	{name: "takes half a scoring for none", breaks: "models/incomplete",
		mutate: tried(func(from, to *audiosearch.Scoring) bool { return from != nil && from.Problem == "" && to == nil })},
	{name: "wants scores of every video", breaks: "models/tried", mutate: tried(func(from, to *audiosearch.Scoring) bool {
		return from != nil && from.Scored() && (to == nil || !to.Scored())
	})},
	{name: "wants what could not be scored", breaks: "models/never-scored",
		mutate: tried(func(from, to *audiosearch.Scoring) bool { return from != nil && to == nil })},
	{name: "never lets models lack videos", breaks: "models/incomplete-if-asked",
		mutate: everyChange(func(c *audiosearch.ModelChange) { c.Incomplete = false })},
	{name: "keeps in seconds when models were replaced", breaks: "models/replaced models/durable",
		mutate: everyModel(func(d *audiosearch.DatasetModel) { d.ReplacedAt = d.ReplacedAt.Truncate(time.Second) })},
	{name: "remembers for ever that a model was replaced", breaks: "models/replaced", mutate: func(m *mutant) {
		first := make(map[string]time.Time)
		everyModel(func(d *audiosearch.DatasetModel) {
			if at, ok := first[d.ID]; ok {
				d.ReplacedAt = at
			} else if !d.ReplacedAt.IsZero() {
				first[d.ID] = d.ReplacedAt
			}
		})(m)
	}},
	{name: "has one current model", breaks: "models/families-are-apart",
		mutate: everyChange(func(c *audiosearch.ModelChange) { c.Family = "f" })},
	{name: "folds the case of families", breaks: "models/families-are-apart",
		mutate: everyChange(func(c *audiosearch.ModelChange) { c.Family = strings.ToLower(c.Family) })},
	{name: "lists models like a dictionary", breaks: "models/list",
		mutate: everyModels(func(models []audiosearch.DatasetModel) []audiosearch.DatasetModel {
			slices.SortStableFunc(models, func(a, b audiosearch.DatasetModel) int {
				return strings.Compare(strings.ToLower(a.ID), strings.ToLower(b.ID))
			})
			return models
		})},
	{name: "lists current models only", breaks: "models/list models/first models/replaced",
		mutate: everyModels(func(models []audiosearch.DatasetModel) []audiosearch.DatasetModel {
			return slices.DeleteFunc(models, func(d audiosearch.DatasetModel) bool { return !d.Current })
		})},
	{name: "sorts the classes of models", breaks: "models/list models/durable", mutate: everyModel(func(d *audiosearch.DatasetModel) {
		d.Classes = slices.Clone(d.Classes)
		slices.Sort(d.Classes)
	})},
	{name: "remembers the first classes of a model", breaks: "models/list", mutate: func(m *mutant) {
		first := make(map[string][]sound.Class)
		m.On.PutScoring = func(ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16) error {
			if first[s.Model] == nil {
				first[s.Model] = s.Classes
			}
			return m.db.PutScoring(ctx, org, dataset, video, path, s, columns)
		}
		everyModel(func(d *audiosearch.DatasetModel) { d.Classes = first[d.ID] })(m)
	}},
	{name: "has models for all datasets", breaks: "models/datasets-are-apart", mutate: func(m *mutant) {
		all := make(map[string]audiosearch.DatasetModel)
		m.On.Models = func(ctx context.Context, org, dataset string) ([]audiosearch.DatasetModel, error) {
			models, err := m.db.Models(ctx, org, dataset)
			for _, d := range models {
				all[d.ID] = d
			}
			models = nil
			for _, d := range all {
				models = append(models, d)
			}
			slices.SortFunc(models, func(a, b audiosearch.DatasetModel) int { return strings.Compare(a.ID, b.ID) })
			return models, err
		}
	}},
	{name: "keeps the models of what it deletes", breaks: "models/gone-with-the-dataset", mutate: func(m *mutant) {
		var kept string
		m.On.DeleteDataset = func(ctx context.Context, org, id string) error {
			kept = m.current(ctx, org, id, "f")
			return m.db.DeleteDataset(ctx, org, id)
		}
		m.On.CreateDataset = func(ctx context.Context, d audiosearch.Dataset) error {
			err := m.db.CreateDataset(ctx, d)
			if kept != "" {
				_ = m.db.SetModel(ctx, d.Organization, d.ID, audiosearch.ModelChange{Family: "f", To: kept})
			}
			return err
		}
	}},
	{name: "looks at the current model and then changes it", breaks: "models/set-concurrent", mutate: func(m *mutant) {
		var mu sync.Mutex
		m.On.SetModel = func(ctx context.Context, org, dataset string, c audiosearch.ModelChange) error {
			if m.current(ctx, org, dataset, c.Family) != c.From {
				return audiosearch.ErrConflict
			}
			conformance.Seam()
			mu.Lock()
			defer mu.Unlock()
			if now := m.current(ctx, org, dataset, c.Family); now != c.To {
				c.From = now
			}
			return m.db.SetModel(ctx, org, dataset, c)
		}
	}},
	{name: "looks for videos that a model lacks and then changes", breaks: "models/complete-concurrent",
		mutate: replace("SetModel", func(m *mutant, ctx context.Context, org, dataset string, c audiosearch.ModelChange) error {
			videos, _ := m.videosOf(ctx, org, dataset)
			for _, v := range videos {
				from, err := m.db.Scoring(ctx, org, dataset, v.ID, c.From)
				if _, lacks := m.db.Scoring(ctx, org, dataset, v.ID, c.To); err == nil && from.Scored() && lacks != nil {
					return audiosearch.ErrConflict
				}
			}
			conformance.Seam()
			c.Incomplete = true
			return m.db.SetModel(ctx, org, dataset, c)
		})},
	{name: "changes models in two steps", breaks: "models/one-step", mutate: func(m *mutant) {
		var changing atomic.Bool
		m.On.SetModel = func(ctx context.Context, org, dataset string, c audiosearch.ModelChange) error {
			changing.Store(true)
			conformance.Seam()
			changing.Store(false)
			return m.db.SetModel(ctx, org, dataset, c)
		}
		everyModel(func(d *audiosearch.DatasetModel) { d.Current = d.Current && !changing.Load() })(m)
	}},
	{name: "drops the scores of what it replaces", breaks: "models/change-keeps-scores models/incomplete-if-asked",
		mutate: replace("SetModel", func(m *mutant, ctx context.Context, org, dataset string, c audiosearch.ModelChange) error {
			err := m.db.SetModel(ctx, org, dataset, c)
			_, _, _ = m.db.Compact(ctx, audiosearch.CompactOptions{ReplacedBefore: time.Now()}, 1000)
			return err
		})},
	{name: "never removes the scores of replaced models",
		breaks: "compactor/replaced compactor/replaced-and-back compactor/replaced-apart compactor/replaced-durable",
		mutate: everyCompact(func(o *audiosearch.CompactOptions) { o.ReplacedBefore = time.Time{} })},
	{name: "removes the scores of replaced models at any time", breaks: "compactor/replaced",
		mutate: everyCompact(func(o *audiosearch.CompactOptions) { o.ReplacedBefore = time.Now() })},
	{name: "removes scores that were replaced just then", breaks: "compactor/replaced",
		mutate: everyCompact(func(o *audiosearch.CompactOptions) { o.ReplacedBefore = o.ReplacedBefore.Add(time.Microsecond) })},
	{name: "removes the scores of what was ever replaced", breaks: "compactor/replaced-and-back compactor/replaced-apart",
		mutate: func(m *mutant) {
			replaced := make(map[string]bool)
			m.On.SetModel = func(ctx context.Context, org, dataset string, c audiosearch.ModelChange) error {
				replaced[c.From] = true
				return m.db.SetModel(ctx, org, dataset, c)
			}
			m.On.Compact = func(ctx context.Context, opts audiosearch.CompactOptions, limit int) (int, bool, error) {
				for _, at := range [][2]string{{"org-a", "set-a"}, {"org-a", "set-b"}, {"org-b", "set-a"}} {
					videos, _ := m.videosOf(ctx, at[0], at[1])
					for _, v := range videos {
						for model := range replaced {
							if _, err := m.db.Scoring(ctx, at[0], at[1], v.ID, model); err == nil {
								_ = m.db.PutScoring(ctx, at[0], at[1], v.ID, v.Path, audiosearch.Scoring{Model: model, Problem: "removed"}, nil)
							}
						}
					}
				}
				return m.db.Compact(ctx, opts, limit)
			}
		}},
}
