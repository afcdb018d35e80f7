package audiosearchdb

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/columnar"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
)

// fewVideos is how many selected videos are looked up one by one.
const fewVideos = 1000

// For a dataset, a model and a class, of all videos, or of some.
const (
	scoresOfClass  = "SELECT video, first, scores FROM @.audiosearch_scores WHERE dataset = $1 AND model = $2 AND class = $3"
	scoresOfVideos = scoresOfClass + " AND video = ANY ($4::text[])"
)

// Search implements [audiosearch.ScoreStore].
func (a *Store) Search(ctx context.Context, org, dataset string, q audiosearch.ScoreQuery) (hits []audiosearch.Hit, err error) {
	numbers, err := a.numbersOf(ctx, org, false, q.Model, string(q.Class))
	if err != nil {
		return nil, err
	}
	model, class := numbers[q.Model], numbers[string(q.Class)]
	err = a.readCatalog(ctx, org, dataset, func(s *engine.Session, d audioDataset, c *audioCatalog) error {
		hits = nil
		var selected *columnar.Selection
		statement, args := scoresOfClass, []any{d.seq, model, class}
		if len(q.Filters) > 0 {
			if selected, err = c.columns.Select(ctx, q.Filters); err != nil {
				return err
			}
			if selected.Len() <= fewVideos {
				var videos []string
				for row := range selected.Rows() {
					videos = append(videos, c.ids[row])
				}
				statement, args = scoresOfVideos, append(args, videos)
			}
		}
		ranking := columnar.NewRanking(columnar.Page{Offset: q.Offset, Limit: q.Limit, MinScore: q.MinScore}, c.order)
		for ranking.Next() {
			err := s.Query(func(rows pgx.Rows) error {
				var video, scores pgtype.DriverBytes // valid until the next row
				var first uint32
				if err := rows.Scan(&video, &first, &scores); err != nil {
					return err
				}
				if row, ok := c.rows[string(video)]; ok && (selected == nil || selected.Contains(row)) {
					ranking.OfferScores(row, first, scores)
				}
				return nil
			}, statement, args...)
			if err != nil {
				return err
			}
		}
		for _, h := range ranking.Hits() {
			hits = append(hits, audiosearch.Hit{Video: c.ids[h.Row], Window: int(h.Window), Score: h.Score})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return hits, nil
}

// For a dataset, a model and a media, which may be none: which videos have scores, and
// whether all of theirs, of that media.
const triedVideos = "SELECT video, problem = '' AND ($3::text = '' OR media = $3), problem = '' OR windows > 0 FROM @.audiosearch_scorings WHERE dataset = $1 AND model = $2"

// Unscored implements [audiosearch.ScoreStore].
func (a *Store) Unscored(ctx context.Context, org, dataset string, q audiosearch.UnscoredQuery) (u audiosearch.Unscored, err error) {
	model, err := a.model(ctx, org, q.Model, false)
	if err != nil {
		return u, err
	}
	err = a.readCatalog(ctx, org, dataset, func(s *engine.Session, d audioDataset, c *audioCatalog) error {
		u = audiosearch.Unscored{}
		whole, scored := make([]bool, len(c.ids)), make([]bool, len(c.ids))
		err := s.Query(func(rows pgx.Rows) error {
			var video []byte
			var all, some bool
			if err := rows.Scan(&video, &all, &some); err != nil {
				return err
			}
			if row, ok := c.rows[string(video)]; ok {
				whole[row], scored[row] = all, some
			}
			return nil
		}, triedVideos, d.seq, model, q.Media)
		if err != nil {
			return err
		}
		selected, err := c.columns.Select(ctx, q.Filters)
		if err != nil {
			return err
		}
		u.Matched = selected.Len()
		var ids []string
		for row := range selected.Rows() {
			if !scored[row] {
				u.Without++
			}
			if id := c.ids[row]; !whole[row] && id > q.After {
				if ids = append(ids, id); len(ids)/2 >= max(q.Limit, 1000) {
					slices.Sort(ids)
					ids = ids[:q.Limit]
				}
			}
		}
		slices.Sort(ids)
		ids = ids[:min(q.Limit, len(ids))]
		return s.Query(func(rows pgx.Rows) error {
			v, err := scanVideo(rows)
			u.Videos = append(u.Videos, v)
			return err
		}, videosByID, d.seq, ids)
	})
	if err != nil {
		return audiosearch.Unscored{}, err
	}
	return u, nil
}

const videosByID = "SELECT id, path, metadata FROM @.audiosearch_videos WHERE dataset = $1 AND id = ANY ($2::text[]) ORDER BY id"
