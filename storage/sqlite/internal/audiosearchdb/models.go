package audiosearchdb

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

const (
	currentOf    = "SELECT family, model FROM audiosearch_current WHERE dataset = ?"
	replacedOf   = "SELECT model, family, at FROM audiosearch_replaced WHERE dataset = ?"
	scoredModels = "SELECT m.model, m.vocabulary, v.classes, m.latest, m.seq FROM audiosearch_models m" +
		" CROSS JOIN audiosearch_vocabularies v ON v.seq = m.vocabulary" +
		" WHERE m.dataset = ? AND m.shelf = 0 AND m.scorings > 0"

	currentModel = "SELECT model FROM audiosearch_current WHERE dataset = ? AND family = ?"
	anyCurrent   = "SELECT 1 FROM audiosearch_current WHERE dataset = ? AND model = ? LIMIT 1"
	setCurrent   = "INSERT INTO audiosearch_current (dataset, family, model) VALUES (?,?,?)" +
		" ON CONFLICT DO UPDATE SET model = excluded.model"
	insertReplaced = "INSERT INTO audiosearch_replaced (dataset, model, family, at) VALUES (?,?,?,?)" +
		" ON CONFLICT DO UPDATE SET (family, at, swept) = (excluded.family, excluded.at, 0)"
	deleteReplaced = "DELETE FROM audiosearch_replaced WHERE dataset = ? AND model = ?"

	orderOf     = "SELECT seq FROM audiosearch_model_order WHERE family = ? AND model = ?"
	insertOrder = "INSERT INTO audiosearch_model_order (family, model) VALUES (?,?) ON CONFLICT DO NOTHING"

	// A video that has scores by ?2 and no scoring by ?3.
	lackingVideo = "SELECT 1 FROM audiosearch_videos v WHERE v.dataset = ?1" + lacking
	lackingAmong = "SELECT 1 FROM audiosearch_videos v WHERE +v.dataset = ?1" +
		" AND v.seq BETWEEN ?4 AND ?5" + lacking
	lacking = " AND EXISTS (SELECT 1 FROM audiosearch_scorings s WHERE s.video = v.seq" +
		" AND (s.problem IS NULL OR s.windows > 0)" +
		" AND s.model IN (SELECT seq FROM audiosearch_models WHERE dataset = ?1 AND model = ?2 AND shelf = 0))" +
		" AND NOT EXISTS (SELECT 1 FROM audiosearch_scorings s WHERE s.video = v.seq" +
		" AND s.model IN (SELECT seq FROM audiosearch_models WHERE dataset = ?1 AND model = ?3 AND shelf = 0)) LIMIT 1"
	layoutsBy = "SELECT windows, layout FROM audiosearch_blocks WHERE seq BETWEEN ?3 AND ?4" +
		" AND +model IN (SELECT seq FROM audiosearch_models WHERE dataset = ?1 AND model = ?2 AND shelf = 0)"
)

// Models implements [audiosearch.ModelStore].
func (a *Store) Models(ctx context.Context, org, dataset string) ([]audiosearch.DatasetModel, error) {
	var models []audiosearch.DatasetModel
	err := a.within(ctx, org, dataset, func(c *file.Conn, d *audioDataset) (err error) {
		models, err = a.modelsIn(ctx, c, d.seq)
		return err
	})
	if err != nil {
		return nil, err
	}
	return models, nil
}

func (a *Store) modelsIn(ctx context.Context, c *file.Conn, dataset int64) ([]audiosearch.DatasetModel, error) {
	known := make(map[string]*audiosearch.DatasetModel)
	model := func(id string) *audiosearch.DatasetModel {
		if known[id] == nil {
			known[id] = &audiosearch.DatasetModel{ID: id}
		}
		return known[id]
	}
	type scoring struct{ at, seq, vocabulary int64 }
	latest := make(map[string]scoring)
	err := c.Query(context.Background(), scoredModels, []any{dataset}, func(r *file.Row) error {
		m := model(r.Text(0))
		s := scoring{at: file.Cell[int64](r, 3), seq: file.Cell[int64](r, 4), vocabulary: file.Cell[int64](r, 1)}
		was := latest[m.ID]
		if r.Number(2) > 0 && cmp.Or(cmp.Compare(s.at, was.at), cmp.Compare(s.seq, was.seq)) > 0 {
			latest[m.ID] = s
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for id, s := range latest {
		v, err := a.viewsOf(ctx).vocabularies.get(c, s.vocabulary)
		if err != nil {
			return nil, err
		}
		known[id].Classes = v.classes
	}
	err = c.Query(context.Background(), replacedOf, []any{dataset}, func(r *file.Row) error {
		m := model(r.Text(0))
		m.Family, m.ReplacedAt = r.Text(1), time.UnixMicro(file.Cell[int64](r, 2)).UTC()
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = c.Query(context.Background(), currentOf, []any{dataset}, func(r *file.Row) error {
		m := model(r.Text(1))
		m.Family, m.Current = r.Text(0), true
		return nil
	})
	if err != nil {
		return nil, err
	}
	models := make([]audiosearch.DatasetModel, 0, len(known))
	for _, m := range known {
		models = append(models, *m)
	}
	slices.SortFunc(models, func(a, b audiosearch.DatasetModel) int { return strings.Compare(a.ID, b.ID) })
	return models, nil
}

// ModelOrder implements [audiosearch.ModelStore].
func (a *Store) ModelOrder(ctx context.Context, family, model string) (int64, error) {
	var place int64
	err := a.db.Find(ctx, file.NoOrg, orderOf, []any{family, model}, func(r *file.Row) error {
		place = file.Cell[int64](r, 0)
		return nil
	})
	if err != nil || place != 0 {
		return place, err
	}
	err = a.db.Write(ctx, func(tx *file.Tx) error {
		if _, err := tx.Exec(insertOrder, family, model); err != nil {
			return err
		}
		var err error
		place, err = number(tx, orderOf, family, model)
		return err
	})
	if err != nil {
		return 0, err
	}
	return place, nil
}

// errChanged says that a dataset is not any more as it was looked at.
var errChanged = errors.New("sqlite: the dataset has changed")

// SetModel implements [audiosearch.ModelStore]. Whether the new model has scored everything
// takes a look at all videos. It is found out apart from the writer, and counts if little
// has changed until that has its turn.
func (a *Store) SetModel(ctx context.Context, org, dataset string, change audiosearch.ModelChange) error {
	const tries = 3
	for range tries {
		var at audioDataset
		if change.From != "" && !change.Incomplete {
			err := a.within(ctx, org, dataset, func(c *file.Conn, d *audioDataset) error {
				at = *d
				return c.Query(ctx, lackingVideo, []any{d.seq, change.From, change.To}, func(*file.Row) error {
					at.seq = 0
					return nil
				})
			})
			if err != nil {
				return err
			}
			if at.seq == 0 {
				return audiosearch.ErrConflict
			}
		}
		err := a.db.Write(ctx, func(tx *file.Tx) error { return setModel(tx, org, dataset, &change, &at) })
		if !errors.Is(err, errChanged) {
			return err
		}
	}
	return audiosearch.ErrConflict
}

// setModel changes the current model of a dataset, of which is known what it was like some
// time ago.
func setModel(t *file.Tx, org, dataset string, m *audiosearch.ModelChange, at *audioDataset) error {
	c, err := changeDataset(t, org, dataset)
	if err != nil {
		return err
	}
	from := ""
	err = t.Query(currentModel, []any{c.seq, m.Family}, func(r *file.Row) error {
		from = r.Text(0)
		return nil
	})
	if err != nil {
		return err
	}
	if from != m.From {
		return audiosearch.ErrConflict
	}
	if m.From != "" && !m.Incomplete {
		if err := c.stillComplete(m, at); err != nil {
			return err
		}
	}
	err = t.Apply(
		file.Do(setCurrent, c.seq, m.Family, m.To),
		file.Do(deleteReplaced, c.seq, m.To),
	)
	if err != nil {
		return err
	}
	if m.From == "" {
		return nil
	}
	elsewhere, err := number(t, anyCurrent, c.seq, m.From)
	if err != nil || elsewhere != 0 {
		return err
	}
	_, err = t.Exec(insertReplaced, c.seq, m.From, m.Family, m.At.UnixMicro())
	return err
}

// stillComplete looks at what has changed in a dataset since the new model was complete.
func (c *datasetChange) stillComplete(m *audiosearch.ModelChange, at *audioDataset) error {
	if c.seq != at.seq || c.forgotten > at.revision {
		return errChanged
	}
	var videos []span
	var blocks []span
	err := c.Query(changesSince, []any{c.seq, at.revision}, func(r *file.Row) error {
		s := span{file.Cell[int64](r, 1), file.Cell[int64](r, 2)}
		if r.Number(0) == videosChanged {
			videos = append(videos, s)
		} else {
			blocks = append(blocks, s)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(videos)+len(blocks) > removeAtOnce {
		return errChanged
	}
	for _, s := range blocks {
		if s.last-s.first >= removeAtOnce || len(videos) > 2*removeAtOnce {
			return errChanged
		}
		err := c.Query(layoutsBy, []any{c.seq, m.From, s.first, s.last}, func(r *file.Row) error {
			parts, err := readLayout(file.Cell[[]byte](r, 1), r.Number(0))
			for _, p := range parts {
				videos = append(videos, span{p.video, p.video})
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	n := int64(0)
	for _, s := range joinSpans(videos) {
		if n += s.last - s.first + 1; n > removeAtOnce {
			return errChanged
		}
		found, err := number(c.Tx, lackingAmong, c.seq, m.From, m.To, s.first, s.last)
		if err == nil && found != 0 {
			err = audiosearch.ErrConflict
		}
		if err != nil {
			return err
		}
	}
	return nil
}
