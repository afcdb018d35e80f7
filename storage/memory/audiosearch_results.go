package memory

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// audioResults is a set of results.
type audioResults struct {
	videos  map[string]audiosearch.Video
	results []audiosearch.Result // without Path and Metadata, which videos have
}

// What a page of results has at most.
const (
	pageResults  = 100
	pageMetadata = 256 << 10 // bytes
)

// PutResultVideos implements [audiosearch.ResultStore].
func (a *AudioSearch) PutResultVideos(ctx context.Context, org string, run int64, set uuid.UUID, videos []audiosearch.Video) error {
	own, err := a.ownVideos(ctx, org, run, videos)
	if err != nil {
		return err
	}
	return a.put(ctx, org, run, set, func(s *audioResults) error {
		for _, v := range own {
			if _, ok := s.videos[v.ID]; !ok {
				s.videos[v.ID] = v
			}
		}
		return nil
	})
}

// ownVideos returns copies of videos that a run found. Their metadata is the catalog's own
// if it is the same: runs share that, because stored metadata is replaced and not changed.
func (a *AudioSearch) ownVideos(ctx context.Context, org string, run int64, videos []audiosearch.Video) ([]audiosearch.Video, error) {
	r, err := a.Run(ctx, org, run)
	if err != nil {
		return nil, err
	}
	own := slices.Clone(videos)
	// Before put locks the database: see audioDataset.
	err = a.read(ctx, org, r.Query.Dataset, func(d *audioDataset) error {
		for i, v := range own {
			if now, ok := d.videos[v.ID]; ok && v.Metadata != nil && maps.Equal(v.Metadata, now.video.Metadata) {
				own[i].Metadata = now.video.Metadata
			} else {
				own[i].Metadata = maps.Clone(v.Metadata)
			}
		}
		return nil
	})
	if errors.Is(err, audiosearch.ErrDatasetNotFound) { // it was deleted since the search
		for i := range own {
			own[i].Metadata = maps.Clone(own[i].Metadata)
		}
		err = nil
	}
	return own, err
}

// PutResults implements [audiosearch.ResultStore].
func (a *AudioSearch) PutResults(ctx context.Context, org string, run int64, set uuid.UUID, results []audiosearch.Result) error {
	return a.put(ctx, org, run, set, func(s *audioResults) error {
		own := make([]audiosearch.Result, len(results))
		for i, r := range results {
			if _, ok := s.videos[r.VideoID]; !ok {
				return errors.New("memory: a result is of a video that its set does not have")
			}
			r.Path, r.Metadata = "", nil
			if r.Moderation != nil {
				score := *r.Moderation
				r.Moderation = &score
			}
			own[i] = r
		}
		s.results = own
		return nil
	})
}

// put changes a set of a run that has not ended.
func (a *AudioSearch) put(ctx context.Context, org string, run int64, set uuid.UUID, change func(*audioResults) error) error {
	db, err := a.db.write(ctx)
	if err != nil {
		return err
	}
	defer db.end()
	r, err := db.audio.findRun(org, run)
	if err != nil {
		return err
	}
	if r.run.State == audiosearch.StateTerminated {
		return audiosearch.ErrFinished
	}
	s, ok := r.sets[set]
	if !ok {
		s = &audioResults{videos: make(map[string]audiosearch.Video)}
	}
	if err := change(s); err != nil {
		return err
	}
	r.sets[set] = s
	return nil
}

// RunResults implements [audiosearch.ResultStore].
func (a *AudioSearch) RunResults(ctx context.Context, org string, run int64, from int) ([]audiosearch.Result, error) {
	db, err := a.db.read(ctx)
	if err != nil {
		return nil, err
	}
	defer db.end()
	r, err := db.audio.findRun(org, run)
	if err != nil {
		return nil, err
	}
	s, ok := r.sets[r.run.ResultSet]
	if !ok || from < 0 || from >= len(s.results) {
		return nil, nil
	}
	var page []audiosearch.Result
	seen, bytes := make(map[string]bool), 0
	for _, result := range s.results[from:min(from+pageResults, len(s.results))] {
		v := s.videos[result.VideoID]
		if !seen[v.ID] {
			seen[v.ID] = true
			size := 0
			for key, value := range v.Metadata {
				size += len(key) + len(value.Text())
			}
			if bytes += size; bytes > pageMetadata && len(page) > 0 {
				break
			}
		}
		result.Path, result.Metadata = v.Path, v.Metadata
		page = append(page, result)
	}
	return audiosearch.Run{Results: page}.Clone().Results, nil
}
