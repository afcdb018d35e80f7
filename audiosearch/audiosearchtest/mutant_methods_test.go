package audiosearchtest_test

import (
	"context"
	"errors"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// plainStore is a store in memory that can be asked for one video, and for one scoring.
type plainStore struct{ *memory.AudioSearch }

// Video returns a video, or ErrVideoNotFound.
func (db plainStore) Video(ctx context.Context, org, dataset, id string) (audiosearch.Video, error) {
	found, _, err := db.Videos(ctx, org, dataset, []string{id})
	if err == nil && len(found) == 0 {
		err = audiosearch.ErrVideoNotFound
	}
	if err != nil {
		return audiosearch.Video{}, err
	}
	return found[0], nil
}

// Scoring returns what came of scoring a video by a model, or ErrNotScored.
func (db plainStore) Scoring(ctx context.Context, org, dataset, video, model string) (audiosearch.Scoring, error) {
	found, err := db.Scorings(ctx, org, dataset, model, []string{video})
	if err != nil {
		return audiosearch.Scoring{}, err
	}
	s, ok := found[video]
	if !ok {
		return audiosearch.Scoring{}, audiosearch.ErrNotScored
	}
	return s, nil
}

func (m *mutant) Videos(ctx context.Context, org, dataset string, ids []string) (found []audiosearch.Video, looked int, err error) {
	if m.video == nil || m.broken.Load() {
		return m.On.Videos(ctx, org, dataset, ids)
	}
	for _, id := range ids {
		v, err := m.video(ctx, org, dataset, id)
		switch {
		case err == nil:
			found = append(found, v)
		case !errors.Is(err, audiosearch.ErrVideoNotFound):
			return nil, 0, err
		}
	}
	return found, len(ids), nil
}

func (m *mutant) Scorings(
	ctx context.Context, org, dataset, model string, videos []string,
) (map[string]audiosearch.Scoring, error) {
	if m.scoring == nil || m.broken.Load() {
		return m.On.Scorings(ctx, org, dataset, model, videos)
	}
	found := make(map[string]audiosearch.Scoring)
	for _, id := range videos {
		s, err := m.scoring(ctx, org, dataset, id, model)
		switch {
		case err == nil:
			found[id] = s
		case !errors.Is(err, audiosearch.ErrNotScored):
			return nil, err
		}
	}
	return found, nil
}
