package audiosearchdb

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
)

const (
	markAudioDeleted  = "INSERT INTO @.audiosearch_deleted (organization, since) VALUES ($1, $2) ON CONFLICT DO NOTHING"
	audioDeletedSince = "SELECT since FROM @.audiosearch_deleted WHERE organization = $1"
	audioDeletion     = "audiosearch deletion"
)

// keepAudio returns [mortise.ErrDeleted] if an organization is marked, and keeps others
// from marking it before the transaction ends.
func keepAudio(s *engine.Session, org string) error {
	if err := s.Lock(audioDeletion, org, true); err != nil {
		return err
	}
	marked, err := audioDeleted(s, org)
	if err == nil && marked {
		err = mortise.ErrDeleted
	}
	return err
}

func audioDeleted(s *engine.Session, org string) (marked bool, err error) {
	err = s.Row("SELECT EXISTS (SELECT FROM @.audiosearch_deleted WHERE organization = $1)", []any{org}, &marked)
	return marked, err
}

// MarkDeleted implements [audiosearch.Deletion].
func (a *Store) MarkDeleted(ctx context.Context, org string, at time.Time) (time.Time, error) {
	var since pgtype.Timestamptz
	err := a.db.Transact(ctx, org, func(s *engine.Session) error {
		if err := s.Lock(audioDeletion, org, false); err != nil {
			return err
		}
		marked, err := s.Exec(markAudioDeleted, org, sqltext.Bound(at))
		if err == nil && marked > 0 {
			err = s.TookAway(at)
		}
		if err != nil {
			return err
		}
		return s.Row(audioDeletedSince, []any{org}, &since)
	})
	return sqltext.TimeOf(since), err
}

// datasetRemovals are for a dataset that is out of sight, and a limit.
var datasetRemovals = [...]string{
	removal("audiosearch_scores", "dataset, video, model, class, first"),
	removal("audiosearch_part_scores", "dataset, video, model, first, class"),
	removal("audiosearch_parts", "dataset, video, model"),
	removal("audiosearch_scorings", "dataset, model, video"),
	removal("audiosearch_videos", "dataset, id"),
	removal("audiosearch_models", "dataset, model"),
	removal("audiosearch_current", "dataset, family"),
}

// removal returns the statement that removes some of a dataset's rows, by their key.
func removal(table, key string) string {
	return "DELETE FROM @." + table + " WHERE dataset = $1 AND (" + key + ") IN (SELECT " + key + " FROM @." + table + " WHERE dataset = $1 LIMIT $2)"
}

// removeDataset removes rows of a dataset that is in the trash. If they are fewer than the
// limit, nothing is left.
func removeDataset(s *engine.Session, seq int64, limit int) (removed int, err error) {
	for _, statement := range datasetRemovals {
		n, err := s.Exec(statement, seq, limit-removed)
		if removed += int(n); err != nil || removed >= limit {
			return removed, err
		}
	}
	n, err := s.Exec("DELETE FROM @.audiosearch_trash WHERE seq = $1", seq)
	return removed + int(n), err
}

const (
	throwAwaySome = "WITH these AS (SELECT seq FROM @.audiosearch_datasets WHERE organization = $1 ORDER BY id LIMIT $2 FOR UPDATE)," +
		" gone AS (DELETE FROM @.audiosearch_datasets WHERE seq = ANY (ARRAY(SELECT seq FROM these)) RETURNING organization, seq)" +
		" INSERT INTO @.audiosearch_trash (organization, seq) SELECT organization, seq FROM gone"
	trashOf   = "SELECT seq FROM @.audiosearch_trash WHERE organization = $1 ORDER BY seq LIMIT 1 FOR UPDATE"
	runsToGo  = "SELECT id FROM @.audiosearch_runs WHERE organization = $1 ORDER BY created_at, id LIMIT $2 FOR UPDATE"
	jobsOfRun = "DELETE FROM @.jobs WHERE organization = $1 AND kind = '" + audiosearch.JobKind + "' AND id = ANY ($2::text[])"
	dropRuns  = "DELETE FROM @.audiosearch_runs WHERE organization = $1 AND id = ANY ($2::bigint[])"
)

// RemoveDeleted implements [audiosearch.Deletion].
func (a *Store) RemoveDeleted(ctx context.Context, org string, limit int) (n int, more bool, err error) {
	return a.db.RemoveSome(ctx, org, limit, func(s *engine.Session) (int, error) { return removeAudio(s, org, limit) })
}

// removeAudio removes rows of a deleted organization. If they are fewer than the limit,
// nothing is left.
func removeAudio(s *engine.Session, org string, limit int) (removed int, err error) {
	if err := s.NeedsLatest(); err != nil {
		return 0, err
	}
	marked, err := audioDeleted(s, org)
	if err == nil && !marked {
		err = mortise.ErrNotFound
	}
	if err != nil || limit <= 0 {
		return 0, err
	}
	n, err := s.Exec(throwAwaySome, org, limit)
	if removed = int(n); err != nil || removed >= limit {
		return removed, err
	}
	for removed < limit {
		var seq int64
		err := s.Row(trashOf, []any{org}, &seq)
		if engine.IsNoRow(err) {
			break
		}
		if err != nil {
			return removed, err
		}
		n, err := removeDataset(s, seq, limit-removed)
		if removed += n; err != nil {
			return removed, err
		}
	}
	if removed >= limit {
		return removed, nil
	}
	var ids []int64
	var jobs []string
	err = s.Query(func(rows pgx.Rows) error {
		var id int64
		err := rows.Scan(&id)
		ids, jobs = append(ids, id), append(jobs, strconv.FormatInt(id, 10))
		return err
	}, runsToGo, org, limit-removed)
	if err != nil || len(ids) == 0 {
		return removed, err
	}
	if _, err := s.Exec(jobsOfRun, org, jobs); err != nil {
		return removed, err
	}
	n, err = s.Exec(dropRuns, org, ids)
	return removed + int(n), err
}

// The most rows and scorings that a step of Compact removes.
const (
	compactRows     = 2000
	compactScorings = 4 // by a model that was replaced
)

const (
	// For a time.
	oldParts = "SELECT dataset, video, model FROM @.audiosearch_parts WHERE used_at < $1 ORDER BY used_at LIMIT 1 FOR UPDATE SKIP LOCKED"

	replacedModel = "SELECT m.dataset, m.model FROM @.audiosearch_models AS m WHERE m.replaced < $1" +
		" AND EXISTS (SELECT FROM @.audiosearch_scorings AS g WHERE g.dataset = m.dataset AND g.model = m.model) LIMIT 1"
	// For a dataset and a model, once the dataset is locked.
	stillReplaced = "SELECT EXISTS (SELECT FROM @.audiosearch_models WHERE dataset = $1 AND model = $2 AND replaced < $3)"
	lockDataset   = "SELECT FROM @.audiosearch_datasets WHERE seq = $1 FOR UPDATE"
	scoringsOfOld = "SELECT video FROM @.audiosearch_scorings WHERE dataset = $1 AND model = $2 ORDER BY video LIMIT $3"
)

// Compact implements [audiosearch.Pruner]. A step removes some rows of a dataset that was
// deleted, the parts of one scoring, or a few scorings by a model that was replaced.
func (a *Store) Compact(
	ctx context.Context, opts audiosearch.CompactOptions, limit int,
) (n int, more bool, err error) {
	if limit <= 0 {
		return 0, true, ctx.Err()
	}
	err = a.db.Transact(ctx, engine.NoOrg, func(s *engine.Session) error {
		n = 0
		var seq int64
		err := s.Row("SELECT seq FROM @.audiosearch_trash ORDER BY seq LIMIT 1 FOR UPDATE SKIP LOCKED", nil, &seq)
		if err == nil {
			n, err = removeDataset(s, seq, min(limit, compactRows))
			return err
		}
		if !engine.IsNoRow(err) {
			return err
		}
		var video string
		var model int32
		err = s.Row(oldParts, []any{sqltext.Bound(opts.PartsBefore)}, &seq, &video, &model)
		if err == nil {
			for _, statement := range []string{dropPartScores, dropParts} {
				if _, err := s.Exec(statement, seq, video, model); err != nil {
					return err
				}
			}
			n = 1
			return nil
		}
		if !engine.IsNoRow(err) || opts.ReplacedBefore.IsZero() {
			return engine.IgnoreNoRow(err)
		}
		for n == 0 { // a model may have become current meanwhile
			err = s.Row(replacedModel, []any{sqltext.Bound(opts.ReplacedBefore)}, &seq, &model)
			if err != nil {
				return engine.IgnoreNoRow(err)
			}
			if n, err = dropReplaced(s, seq, model, opts.ReplacedBefore, min(limit, compactScorings)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, false, err
	}
	return n, n > 0, nil
}

// dropReplaced removes some scorings by a model, unless it has become current again, and
// returns how many.
func dropReplaced(s *engine.Session, dataset int64, model int32, before time.Time, limit int) (n int, err error) {
	if _, err := s.Exec(lockDataset, dataset); err != nil {
		return 0, err
	}
	var still bool
	if err := s.Row(stillReplaced, []any{dataset, model, sqltext.Bound(before)}, &still); err != nil || !still {
		return 0, err
	}
	var videos []string
	err = s.Query(func(rows pgx.Rows) error {
		var video string
		err := rows.Scan(&video)
		videos = append(videos, video)
		return err
	}, scoringsOfOld, dataset, model, limit)
	if err != nil {
		return 0, err
	}
	for _, table := range []string{"audiosearch_scores", "audiosearch_scorings"} {
		if _, err := s.Exec("DELETE FROM @."+table+" WHERE dataset = $1 AND model = $2 AND video = ANY ($3::text[])", dataset, model, videos); err != nil {
			return 0, err
		}
	}
	return len(videos), nil
}
