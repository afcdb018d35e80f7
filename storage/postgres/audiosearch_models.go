package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-6363c74e/mortise/audiosearch"
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
func (a *AudioSearch) Models(ctx context.Context, org, dataset string) (models []audiosearch.DatasetModel, err error) {
	err = a.read(ctx, org, dataset, func(s *session, d audioDataset) error {
		models = nil
		var vocabularies []pgtype.Int4
		err := s.query(func(rows pgx.Rows) error {
			var id, family []byte
			var replaced pgtype.Timestamptz
			var m audiosearch.DatasetModel
			var vocabulary pgtype.Int4
			if err := rows.Scan(&id, &family, &m.Current, &replaced, &vocabulary); err != nil {
				return err
			}
			m.ID, m.Family, m.ReplacedAt = string(id), string(family), timeOf(replaced)
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
func (a *AudioSearch) SetModel(ctx context.Context, org, dataset string, c audiosearch.ModelChange) error {
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
	return a.write(ctx, org, dataset, func(s *session, d audioDataset) error {
		var now int32
		err := s.row(currentModel, []any{d.seq, bytes(c.Family)}, &now)
		if err != nil && !isNoRow(err) {
			return err
		}
		if there := err == nil; there != (c.From != "") || there && now != from {
			return audiosearch.ErrConflict
		}
		if c.From != "" && !c.Incomplete {
			var lacks bool
			if err := s.row(lacksVideos, []any{d.seq, from, to}, &lacks); err != nil {
				return err
			}
			if lacks {
				return audiosearch.ErrConflict
			}
		}
		if _, err := s.exec(putCurrent, d.seq, bytes(c.Family), to); err != nil {
			return err
		}
		if _, err := s.exec(becomeCurrent, d.seq, to, bytes(c.Family)); err != nil {
			return err
		}
		if c.From == "" {
			return nil
		}
		_, err = s.exec(becomeReplaced, d.seq, from, bytes(c.Family), bound(c.At))
		return err
	})
}

const (
	placeOfModel = "SELECT place FROM @.audiosearch_model_order WHERE family = $1 AND model = $2"
	nextPlace    = "INSERT INTO @.audiosearch_model_order (place, family, model) SELECT coalesce(max(place), 0) + 1, $1, $2 FROM @.audiosearch_model_order"
)

// ModelOrder implements [audiosearch.ModelStore].
func (a *AudioSearch) ModelOrder(ctx context.Context, family, model string) (place int64, err error) {
	args := []any{bytes(family), bytes(model)}
	err = a.db.read(ctx, noOrg, func(s *session) error { return s.row(placeOfModel, args, &place) })
	if !isNoRow(err) {
		return place, err
	}
	err = a.db.transact(ctx, noOrg, func(s *session) error {
		if err := s.lock("audiosearch model order", "", false); err != nil {
			return err
		}
		if err := s.row(placeOfModel, args, &place); !isNoRow(err) {
			return err
		}
		if _, err := s.exec(nextPlace, args...); err != nil {
			return err
		}
		return s.row(placeOfModel, args, &place)
	})
	return place, err
}
