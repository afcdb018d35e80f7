package audiosearchdb

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
)

// For a dataset. Of a model that was never current, and that nothing was scored by, nothing
// is told.
const modelsOf = "SELECT n.name, coalesce((SELECT family FROM @.audiosearch_current AS c WHERE c.dataset = $1 AND c.model = m.model ORDER BY family LIMIT 1), m.family)," +
	" EXISTS (SELECT FROM @.audiosearch_current AS c WHERE c.dataset = $1 AND c.model = m.model), m.replaced," +
	" CASE WHEN EXISTS (SELECT FROM @.audiosearch_scorings AS g WHERE g.dataset = $1 AND g.model = m.model AND g.windows > 0) THEN m.vocabulary END" +
	" FROM @.audiosearch_models AS m JOIN @.audiosearch_names AS n ON n.id = m.model WHERE m.dataset = $1" +
	" AND (m.family IS NOT NULL OR EXISTS (SELECT FROM @.audiosearch_scorings AS g WHERE g.dataset = $1 AND g.model = m.model))" +
	" ORDER BY n.name"

// Models implements [audiosearch.ModelStore].
func (a *Store) Models(ctx context.Context, org, dataset string) (models []audiosearch.DatasetModel, err error) {
	err = a.read(ctx, org, dataset, func(s *engine.Session, d audioDataset) error {
		models = nil
		var vocabularies []pgtype.Int4
		err := s.Query(func(rows pgx.Rows) error {
			var id, family []byte
			var replaced pgtype.Timestamptz
			var m audiosearch.DatasetModel
			var vocabulary pgtype.Int4
			if err := rows.Scan(&id, &family, &m.Current, &replaced, &vocabulary); err != nil {
				return err
			}
			m.ID, m.Family, m.ReplacedAt = string(id), string(family), sqltext.TimeOf(replaced)
			models, vocabularies = append(models, m), append(vocabularies, vocabulary)
			return nil
		}, modelsOf, d.seq)
		if err != nil {
			return err
		}
		for i, id := range vocabularies {
			if id.Valid {
				v, err := a.vocabularyByID(s, id.Int32)
				if err != nil {
					return err
				}
				models[i].Classes = v.classes
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return models, nil
}

const (
	currentModel = "SELECT model FROM @.audiosearch_current WHERE dataset = $1 AND family = $2"
	putCurrent   = "INSERT INTO @.audiosearch_current (dataset, family, model) VALUES ($1, $2, $3)" +
		" ON CONFLICT (dataset, family) DO UPDATE SET model = excluded.model"

	// For a dataset, the model that is to go, and the one that is to come.
	lacksVideos = "SELECT EXISTS (SELECT FROM @.audiosearch_scorings AS o WHERE o.dataset = $1 AND o.model = $2 AND (o.problem = '' OR o.windows > 0)" +
		" AND NOT EXISTS (SELECT FROM @.audiosearch_scorings AS n WHERE n.dataset = $1 AND n.model = $3 AND n.video = o.video))"

	becomeCurrent = "INSERT INTO @.audiosearch_models (dataset, model, family) VALUES ($1, $2, $3)" +
		" ON CONFLICT (dataset, model) DO UPDATE SET family = excluded.family, replaced = NULL"
	becomeReplaced = "UPDATE @.audiosearch_models SET family = $3, replaced = $4 WHERE dataset = $1 AND model = $2" +
		" AND NOT EXISTS (SELECT FROM @.audiosearch_current WHERE dataset = $1 AND model = $2)"
)

// SetModel implements [audiosearch.ModelStore].
func (a *Store) SetModel(ctx context.Context, org, dataset string, c audiosearch.ModelChange) error {
	if _, err := a.Dataset(ctx, org, dataset); err != nil {
		return err
	}
	to, err := a.model(ctx, org, c.To, true)
	if err != nil {
		return err
	}
	from, err := a.model(ctx, org, c.From, false)
	if err != nil {
		return err
	}
	return a.write(ctx, org, dataset, func(s *engine.Session, d audioDataset) error {
		var now int32
		err := s.Row(currentModel, []any{d.seq, c.Family}, &now)
		if err != nil && !engine.IsNoRow(err) {
			return err
		}
		if there := err == nil; there != (c.From != "") || there && now != from {
			return audiosearch.ErrConflict
		}
		if c.From != "" && !c.Incomplete {
			var lacks bool
			if err := s.Row(lacksVideos, []any{d.seq, from, to}, &lacks); err != nil {
				return err
			}
			if lacks {
				return audiosearch.ErrConflict
			}
		}
		if _, err := s.Exec(putCurrent, d.seq, c.Family, to); err != nil {
			return err
		}
		if _, err := s.Exec(becomeCurrent, d.seq, to, c.Family); err != nil {
			return err
		}
		if c.From == "" {
			return nil
		}
		_, err = s.Exec(becomeReplaced, d.seq, from, c.Family, sqltext.Bound(c.At))
		return err
	})
}

const (
	placeOfModel = "SELECT place FROM @.audiosearch_model_order WHERE family = $1 AND model = $2"
	nextPlace    = "INSERT INTO @.audiosearch_model_order (place, family, model) SELECT coalesce(max(place), 0) + 1, $1, $2 FROM @.audiosearch_model_order"
)

// ModelOrder implements [audiosearch.ModelStore].
func (a *Store) ModelOrder(ctx context.Context, family, model string) (place int64, err error) {
	args := []any{family, model}
	err = a.db.Read(ctx, engine.NoOrg, func(s *engine.Session) error { return s.Row(placeOfModel, args, &place) })
	if !engine.IsNoRow(err) {
		return place, err
	}
	err = a.db.Transact(ctx, engine.NoOrg, func(s *engine.Session) error {
		if err := s.Lock("audiosearch model order", "", false); err != nil {
			return err
		}
		if err := s.Row(placeOfModel, args, &place); !engine.IsNoRow(err) {
			return err
		}
		if _, err := s.Exec(nextPlace, args...); err != nil {
			return err
		}
		return s.Row(placeOfModel, args, &place)
	})
	return place, err
}
