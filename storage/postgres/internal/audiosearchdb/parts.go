package audiosearchdb

import (
	"context"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
	"github.com/seed-6363c74e/mortise/storage/postgres/internal/sqltext"
)

// For a dataset, a video and a model.
const (
	partsLike = "SELECT windows FROM @.audiosearch_parts WHERE dataset = $1 AND video = $2 AND model = $3" +
		" AND media = $4 AND digest = $5 AND window_ = $6 AND hop = $7 AND vocabulary = $8"
	putParts = "INSERT INTO @.audiosearch_parts (dataset, video, model, media, digest, window_, hop, vocabulary, windows, used_at)" +
		" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (dataset, video, model) DO UPDATE SET (media, digest, window_, hop, vocabulary, windows, used_at) =" +
		" ROW (excluded.media, excluded.digest, excluded.window_, excluded.hop, excluded.vocabulary, excluded.windows, excluded.used_at)"
	useParts = "UPDATE @.audiosearch_parts SET used_at = $4 WHERE dataset = $1 AND video = $2 AND model = $3"
)

// partWindows returns how many segments stand in parts like one; 0 if there are none.
// place is a dataset, a video and a model.
func partWindows(s *engine.Session, place []any, like *audiosearch.Part, vocabulary int32) (windows int64, err error) {
	err = s.Row(partsLike, append(place[:3:3], like.Media, like.Digest[:], int64(like.Window), int64(like.Hop), vocabulary), &windows)
	return windows, engine.IgnoreNoRow(err)
}

// PutPart implements [audiosearch.PartStore].
func (a *Store) PutPart(ctx context.Context, org, dataset string, p audiosearch.Part, columns [][]uint16) (stored int, err error) {
	packed := pack(columns)
	return a.parted(ctx, org, dataset, &p, func(s *engine.Session, place []any, vocabulary *audioVocabulary) (int, error) {
		windows, err := partWindows(s, place, &p, vocabulary.id)
		if err != nil {
			return 0, err
		}
		first := int64(p.First)
		switch {
		case first > windows:
			return 0, audiosearch.ErrConflict
		case first < windows:
			_, err := s.Exec(useParts, append(place[:3:3], sqltext.Bound(p.At))...)
			return int(windows), err
		case first == 0: // of what is like none of it
			if _, err := s.Exec(dropPartScores, place...); err != nil {
				return 0, err
			}
		}
		count := int64(0)
		if len(columns) > 0 {
			count = int64(len(columns[0]))
		}
		if count > 0 {
			if err := copyScores(s, "audiosearch_part_scores", place, first, vocabulary.numbers, packed); err != nil {
				return 0, err
			}
		}
		_, err = s.Exec(putParts, append(place[:3:3], p.Media, p.Digest[:], int64(p.Window), int64(p.Hop), vocabulary.id, windows+count, sqltext.Bound(p.At))...)
		return int(windows + count), err
	})
}

// Parts implements [audiosearch.PartStore].
func (a *Store) Parts(ctx context.Context, org, dataset string, p audiosearch.Part) (stored int, err error) {
	return a.parted(ctx, org, dataset, &p, func(s *engine.Session, place []any, vocabulary *audioVocabulary) (int, error) {
		windows, err := partWindows(s, place, &p, vocabulary.id)
		if err == nil && windows > 0 {
			_, err = s.Exec(useParts, append(place[:3:3], sqltext.Bound(p.At))...)
		}
		return int(windows), err
	})
}

// parted calls do for the video of a part: with a dataset, a video and a model.
func (a *Store) parted(
	ctx context.Context, org, dataset string, p *audiosearch.Part, do func(s *engine.Session, place []any, vocabulary *audioVocabulary) (int, error),
) (stored int, err error) {
	if _, err := a.Dataset(ctx, org, dataset); err != nil { // before new names are stored
		return 0, err
	}
	model, err := a.model(ctx, org, p.Model, true)
	if err != nil {
		return 0, err
	}
	vocabulary, err := a.vocabulary(ctx, org, p.Classes)
	if err != nil {
		return 0, err
	}
	err = a.write(ctx, org, dataset, func(s *engine.Session, d audioDataset) (err error) {
		if err := hasPath(s, d.seq, p.Video, p.Path); err != nil {
			return err
		}
		stored, err = do(s, []any{d.seq, p.Video, model}, vocabulary)
		return err
	})
	if err != nil {
		return 0, err
	}
	return stored, nil
}
