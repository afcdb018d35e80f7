package audiosearchdb

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/columnar"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
)

var errTooManyScores = errors.New("postgres: there are more scores than the scoring has segments")

const (
	pathOf     = "SELECT path FROM @.audiosearch_videos WHERE dataset = $1 AND id = $2"
	dropScores = "DELETE FROM @.audiosearch_scores WHERE dataset = $1 AND video = $2 AND model = $3"

	// For what comes before a window.
	partsToScores = "INSERT INTO @.audiosearch_scores (dataset, video, model, first, class, scores)" +
		" SELECT dataset, video, model, first, class, substring(scores FROM 1 FOR (least($4 - first, length(scores) / 2) * 2)::integer)" +
		" FROM @.audiosearch_part_scores WHERE dataset = $1 AND video = $2 AND model = $3 AND first < $4"
	dropParts      = "DELETE FROM @.audiosearch_parts WHERE dataset = $1 AND video = $2 AND model = $3"
	dropPartScores = "DELETE FROM @.audiosearch_part_scores WHERE dataset = $1 AND video = $2 AND model = $3"

	scoringColumns = "vocabulary, file_size, file_time, digest, media, at, problem, start, duration, window_, hop, windows, has_video, keyframes"
	putScoring     = "INSERT INTO @.audiosearch_scorings (dataset, video, model, " + scoringColumns + ")" +
		" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) ON CONFLICT (dataset, model, video) DO UPDATE SET (" + scoringColumns + ") =" +
		" ROW (excluded.vocabulary, excluded.file_size, excluded.file_time, excluded.digest, excluded.media, excluded.at, excluded.problem, excluded.start, excluded.duration," +
		" excluded.window_, excluded.hop, excluded.windows, excluded.has_video, excluded.keyframes)"

	// For a dataset, a model, and its vocabulary if there are scores.
	noteModel = "INSERT INTO @.audiosearch_models (dataset, model, vocabulary) VALUES ($1, $2, $3)" +
		" ON CONFLICT (dataset, model) DO UPDATE SET vocabulary = coalesce(excluded.vocabulary, audiosearch_models.vocabulary)"
)

// hasPath returns [audiosearch.ErrConflict] if a video is gone, or has another path.
func hasPath(s *engine.Session, dataset int64, video, path string) error {
	var now []byte
	err := s.Row(pathOf, []any{dataset, video}, &now)
	if engine.IsNoRow(err) || err == nil && string(now) != path {
		return audiosearch.ErrConflict
	}
	return err
}

// PutScoring implements [audiosearch.ScoreStore].
func (a *Store) PutScoring(ctx context.Context, org, dataset, video, path string, scoring audiosearch.Scoring, columns [][]uint16) error {
	last := 0
	if len(columns) > 0 {
		last = len(columns[0])
	}
	if last > scoring.Windows {
		return errTooManyScores
	}
	before := int64(scoring.Windows - last)
	if len(columns) == 0 {
		before = 0
	}
	if _, err := a.Dataset(ctx, org, dataset); err != nil { // before new names are stored
		return err
	}
	model, err := a.model(ctx, org, scoring.Model, true)
	if err != nil {
		return err
	}
	v := new(audioVocabulary)
	if scoring.Classes != nil {
		if v, err = a.vocabulary(ctx, org, scoring.Classes); err != nil {
			return err
		}
	}
	packed := pack(columns)
	var vocabulary, scored any
	if scoring.Classes != nil {
		if vocabulary = v.id; scoring.Windows > 0 {
			scored = v.id
		}
	}
	return a.write(ctx, org, dataset, func(s *engine.Session, d audioDataset) error {
		if err := hasPath(s, d.seq, video, path); err != nil {
			return err
		}
		place := []any{d.seq, video, model}
		if before > 0 {
			like := audiosearch.Part{Media: scoring.Media, Digest: scoring.Digest, Window: scoring.Window, Hop: scoring.Hop}
			stored, err := partWindows(s, place, &like, v.id)
			if err != nil {
				return err
			}
			if stored < before {
				return audiosearch.ErrConflict
			}
		}
		if _, err := s.Exec(dropScores, place...); err != nil {
			return err
		}
		if before > 0 {
			if _, err := s.Exec(partsToScores, append(place[:3:3], before)...); err != nil {
				return err
			}
		}
		for _, statement := range []string{dropParts, dropPartScores} {
			if _, err := s.Exec(statement, place...); err != nil {
				return err
			}
		}
		if last > 0 {
			if err := copyScores(s, "audiosearch_scores", place, before, v.numbers, packed); err != nil {
				return err
			}
		}
		if _, err := s.Exec(noteModel, d.seq, model, scored); err != nil {
			return err
		}
		_, err := s.Exec(putScoring, append(place[:3:3], vocabulary, scoring.FileSize, sqltext.Stamp(scoring.FileTime), scoring.Digest[:], scoring.Media, sqltext.Stamp(scoring.At),
			sqltext.Bytes(scoring.Problem), int64(scoring.Start), int64(scoring.Duration), int64(scoring.Window), int64(scoring.Hop), scoring.Windows, scoring.HasVideo,
			nanoseconds(scoring.Keyframes))...)
		return err
	})
}

func nanoseconds(times []time.Duration) []int64 {
	if times == nil {
		return nil
	}
	all := make([]int64, len(times))
	for i, t := range times {
		all[i] = int64(t)
	}
	return all
}

// copyScores stores scores of consecutive windows from one on, by class. place is a
// dataset, a video and a model. Of a class that is there twice it stores the first.
func copyScores(s *engine.Session, table string, place []any, first int64, classes []int32, packed [][]byte) error {
	stored := make(map[int32]bool, len(classes))
	next := 0
	rows := pgx.CopyFromFunc(func() (row []any, err error) {
		for ; next < len(classes); next++ {
			if class := classes[next]; !stored[class] {
				stored[class] = true
				next++
				return append(place[:3:3], first, class, packed[next-1]), nil
			}
		}
		return nil, nil
	})
	_, err := s.CopyFrom(table, []string{"dataset", "video", "model", "first", "class", "scores"}, rows)
	return err
}

// pack returns columns of scores as they are stored.
func pack(columns [][]uint16) [][]byte {
	packed := make([][]byte, len(columns))
	for i, column := range columns {
		packed[i] = columnar.Pack(nil, column)
	}
	return packed
}

const scoringsOf = "SELECT video, " + scoringColumns + " FROM @.audiosearch_scorings WHERE dataset = $1 AND model = $2 AND video = ANY ($3::text[])"

// Scorings implements [audiosearch.ScoreStore].
func (a *Store) Scorings(ctx context.Context, org, dataset, model string, videos []string) (found map[string]audiosearch.Scoring, err error) {
	number, err := a.model(ctx, org, model, false)
	if err != nil {
		return nil, err
	}
	err = a.read(ctx, org, dataset, func(s *engine.Session, d audioDataset) (err error) {
		found, err = a.scorings(s, d.seq, number, model, videos)
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

func (a *Store) scorings(s *engine.Session, dataset int64, number int32, model string, videos []string) (map[string]audiosearch.Scoring, error) {
	found := make(map[string]audiosearch.Scoring, len(videos))
	vocabularies := make(map[string]int32)
	err := s.Query(func(rows pgx.Rows) error {
		var video, digest, media, problem []byte
		var vocabulary pgtype.Int4
		var file, at pgtype.Timestamptz
		var keyframes []int64
		scoring := audiosearch.Scoring{Model: model}
		err := rows.Scan(&video, &vocabulary, &scoring.FileSize, &file, &digest, &media, &at, &problem, &scoring.Start, &scoring.Duration, &scoring.Window, &scoring.Hop,
			&scoring.Windows, &scoring.HasVideo, &keyframes)
		if err != nil {
			return err
		}
		copy(scoring.Digest[:], digest)
		scoring.Media, scoring.FileTime, scoring.At, scoring.Problem = string(media), sqltext.TimeOf(file), sqltext.TimeOf(at), string(problem)
		if keyframes != nil {
			scoring.Keyframes = make([]time.Duration, len(keyframes))
			for i, t := range keyframes {
				scoring.Keyframes[i] = time.Duration(t)
			}
		}
		if vocabulary.Valid {
			vocabularies[string(video)] = vocabulary.Int32
		}
		found[string(video)] = scoring
		return nil
	}, scoringsOf, dataset, number, videos)
	if err != nil {
		return nil, err
	}
	for video, id := range vocabularies {
		v, err := a.vocabularyByID(s, id)
		if err != nil {
			return nil, err
		}
		scoring := found[video]
		scoring.Classes = v.classes
		found[video] = scoring
	}
	return found, nil
}

// For a dataset, a video, a model, and two windows.
const windowScores = "SELECT class, first, scores FROM @.audiosearch_scores WHERE dataset = $1 AND video = $2 AND model = $3" +
	" AND first < $5 AND first + length(scores) / 2 > $4"

// WindowScores implements [audiosearch.ScoreStore].
func (a *Store) WindowScores(ctx context.Context, org, dataset, video, model string, from, to int) (windows [][]uint16, err error) {
	number, err := a.model(ctx, org, model, false)
	if err != nil {
		return nil, err
	}
	err = a.read(ctx, org, dataset, func(s *engine.Session, d audioDataset) error {
		windows = nil
		found, err := a.scorings(s, d.seq, number, model, []string{video})
		if err != nil {
			return err
		}
		scoring, ok := found[video]
		if !ok || !scoring.Scored() {
			return audiosearch.ErrNotScored
		}
		first, end := max(from, 0), min(to, scoring.Windows)
		if first >= end {
			return nil
		}
		numbers, err := a.classNumbers(s, &scoring)
		if err != nil {
			return err
		}
		windows = make([][]uint16, end-first)
		for i := range windows {
			windows[i] = make([]uint16, len(scoring.Classes))
		}
		return s.Query(func(rows pgx.Rows) error {
			var class int32
			var at int
			var scores []byte
			if err := rows.Scan(&class, &at, &scores); err != nil {
				return err
			}
			column, ok := numbers[class]
			for i := max(first, at); ok && i < min(end, at+len(scores)/2); i++ {
				windows[i-first][column] = uint16(scores[2*(i-at)]) | uint16(scores[2*(i-at)+1])<<8
			}
			return nil
		}, windowScores, d.seq, video, number, first, end)
	})
	if err != nil {
		return nil, err
	}
	return windows, nil
}

// classNumbers returns the places of a scoring's classes, by their numbers.
func (a *Store) classNumbers(s *engine.Session, scoring *audiosearch.Scoring) (map[int32]int, error) {
	places := make(map[string]int, len(scoring.Classes))
	names := make([]string, len(scoring.Classes))
	for i, c := range scoring.Classes {
		places[string(c)], names[i] = i, string(c)
	}
	numbers := make(map[int32]int, len(names))
	err := s.Query(func(rows pgx.Rows) error {
		var id int32
		var name []byte
		if err := rows.Scan(&id, &name); err != nil {
			return err
		}
		numbers[id] = places[string(name)]
		return nil
	}, "SELECT id, name FROM @.audiosearch_names WHERE name = ANY ($1::text[])", names)
	return numbers, err
}
