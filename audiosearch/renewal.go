package audiosearch

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// outdated are the datasets whose current models have newer ones here.
type outdated struct {
	mu      sync.Mutex
	waiting []datasetName
	wake    chan struct{}
}

type datasetName struct{ org, id string }

// maxOutdated bounds how many datasets wait. The next search of one that is left out puts
// it in again.
const maxOutdated = 10_000

func (o *outdated) add(d datasetName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.waiting) < maxOutdated && !slices.Contains(o.waiting, d) {
		o.waiting = append(o.waiting, d)
	}
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

func (o *outdated) take() (d datasetName, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.waiting) == 0 {
		return d, false
	}
	d, o.waiting = o.waiting[0], o.waiting[1:]
	return d, true
}

// renew has outdated datasets scored by the new models, one video at a time, so that it
// hardly holds up those who wait for theirs.
func (s *Service) renew(ctx context.Context) {
	for ctx.Err() == nil {
		d, ok := s.outdated.take()
		if !ok {
			return
		}
		if err := s.renewOne(ctx, d); err != nil && ctx.Err() == nil && !errors.Is(err, ErrDatasetNotFound) {
			s.opts.Logger.WarnContext(ctx, "cannot score a dataset by a new model; the next search makes another attempt",
				"organization", d.org, "dataset", d.id, "error", err)
		}
	}
}

// renewOne has a dataset scored by its new models. It looks at nothing but the videos
// that these lack: a video that cannot be scored keeps the dataset outdated, and there
// may be many others.
func (s *Service) renewOne(ctx context.Context, d datasetName) error {
	scorers, away, err := s.toScore(ctx, d.org, d.id)
	if err != nil {
		return err
	}
	for _, r := range scorers {
		if r.change == nil {
			continue
		}
		err := s.scoreLacking(ctx, d, &r)
		if err == nil {
			_, err = s.change(ctx, d.org, d.id, *r.change)
		}
		if ctx.Err() != nil {
			return err
		}
		if err != nil {
			away = err // the others go on
		}
	}
	return away
}

// scoreLacking has the videos of a dataset scored that a model lacks, a page at a time:
// there may be a million.
func (s *Service) scoreLacking(ctx context.Context, d datasetName, r *ready) error {
	ask := UnscoredQuery{Model: r.m.ID, Media: s.media, Limit: pageSize}
	for {
		page, err := s.store.Unscored(ctx, d.org, d.id, ask)
		if err != nil {
			return unavailable("look for videos without scores", err)
		}
		if _, err := s.ensureAll(ctx, d.org, d.id, page.Videos, r.scorer, r.m, 1, nil, func() {}); err != nil {
			return err
		}
		if len(page.Videos) < ask.Limit {
			return nil
		}
		ask.After = page.Videos[len(page.Videos)-1].ID
	}
}

// renewing is renew until ctx ends.
func (s *Service) renewing(ctx context.Context) {
	for {
		s.renew(ctx)
		select {
		case <-ctx.Done():
			return
		case <-s.outdated.wake:
		}
	}
}
