package memory

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// audioModels is which models the searches of a dataset read.
type audioModels struct {
	current  map[string]string      // by family
	replaced map[string]audioFormer // by ID
	classes  map[string][]sound.Class
}

// audioFormer is a model that another one took the place of.
type audioFormer struct {
	family string
	at     time.Time
}

// note takes down the classes of a model's latest scoring.
func (m *audioModels) note(id string, classes []sound.Class) {
	if m.classes == nil {
		m.classes = make(map[string][]sound.Class)
	}
	m.classes[id] = classes
}

// vocabularies are the lists of classes that scorings have, each once.
type vocabularies struct {
	mu    sync.Mutex
	lists [][]sound.Class
}

// shared returns the one list that has the same classes.
func (v *vocabularies) shared(classes []sound.Class) []sound.Class {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, list := range v.lists {
		if slices.Equal(list, classes) {
			return list
		}
	}
	list := slices.Clone(classes)
	v.lists = append(v.lists, list)
	return list
}

// Models implements [audiosearch.ModelStore].
func (a *AudioSearch) Models(ctx context.Context, org, dataset string) (models []audiosearch.DatasetModel, err error) {
	err = a.read(ctx, org, dataset, func(d *audioDataset) error {
		known := make(map[string]audiosearch.DatasetModel)
		for id := range d.rows.tried {
			known[id] = audiosearch.DatasetModel{}
		}
		for id, former := range d.models.replaced {
			known[id] = audiosearch.DatasetModel{Family: former.family, ReplacedAt: former.at}
		}
		for family, id := range d.models.current {
			known[id] = audiosearch.DatasetModel{Family: family, Current: true}
		}
		for id, m := range known {
			m.ID = id
			if d.rows.scores[id].Len() > 0 {
				m.Classes = d.models.classes[id]
			}
			models = append(models, m)
		}
		slices.SortFunc(models, func(x, y audiosearch.DatasetModel) int { return strings.Compare(x.ID, y.ID) })
		return nil
	})
	return models, err
}

// ModelOrder implements [audiosearch.ModelStore].
func (a *AudioSearch) ModelOrder(ctx context.Context, family, model string) (int64, error) {
	db, err := a.db.write(ctx)
	if err != nil {
		return 0, err
	}
	defer db.end()
	id, places := [2]string{family, model}, db.audio.places
	if places[id] == 0 {
		places[id] = int64(len(places)) + 1
	}
	return places[id], nil
}

// SetModel implements [audiosearch.ModelStore].
func (a *AudioSearch) SetModel(ctx context.Context, org, dataset string, c audiosearch.ModelChange) error {
	return a.write(ctx, org, dataset, func(d *audioDataset) error {
		if d.models.current[c.Family] != c.From {
			return audiosearch.ErrConflict
		}
		if c.From != "" && !c.Incomplete {
			for _, v := range d.videos {
				if v.scored(c.From) && v.scoring(c.To) == nil {
					return audiosearch.ErrConflict
				}
			}
		}
		m := &d.models
		if m.current == nil {
			m.current, m.replaced = make(map[string]string), make(map[string]audioFormer)
		}
		m.current[c.Family] = c.To
		delete(m.replaced, c.To)
		if c.From != "" && !slices.Contains(slices.Collect(maps.Values(m.current)), c.From) {
			m.replaced[c.From] = audioFormer{c.Family, c.At}
		}
		return nil
	})
}

// dropReplaced removes the scorings by a model that was replaced before a time.
func (d *audioDataset) dropReplaced(before time.Time) bool {
	for id, former := range d.models.replaced {
		if !former.at.Before(before) || d.rows.tried[id] == 0 {
			continue
		}
		for _, v := range d.videos {
			if v.scoring(id) == nil {
				continue
			}
			d.rows.setScores(v, id, nil, nil)
			d.rows.count(id, -1)
			v.scorings = slices.DeleteFunc(v.scorings, func(s audiosearch.Scoring) bool { return s.Model == id })
		}
		return true
	}
	return false
}
