package audiosearch

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Ingested is what came of looking at the videos of a dataset.
type Ingested struct {
	Scored    int            // videos that have new scores
	Unchanged int            // videos whose scores are those of their files already
	Problems  []VideoProblem // those that cannot be searched, or not all of them; the latter are counted above too

	conflicts int // videos that were changed or deleted meanwhile
}

// Ingest looks at all videos of a dataset, and scores those that are new, or whose files have changed. Changed scores replace the old ones in one
// step. A video that cannot be scored is a problem, and no error. It may run beside searches, and any number of times.
func (s *Service) Ingest(ctx context.Context, org, dataset string) (Ingested, error) {
	m, err := s.model(ctx)
	if err != nil {
		return Ingested{}, err
	}
	var total Ingested
	after := ""
	for {
		page, err := s.store.ListVideos(ctx, org, dataset, after, pageSize)
		if err != nil {
			return total, unavailable("list videos", err)
		}
		videos := make([]Video, len(page))
		for i, v := range page {
			videos[i] = Video{ID: v.ID, Path: v.Path}
		}
		part, err := s.ensureAll(ctx, org, dataset, videos, m, func() {})
		total.Scored += part.Scored
		total.Unchanged += part.Unchanged
		total.Problems = append(total.Problems, part.Problems...)
		if err != nil || len(page) < pageSize {
			return total, err
		}
		after = page[len(page)-1].ID
	}
}

// ensureAll is ensure for many videos at a time. done is called after each, on any goroutine.
func (s *Service) ensureAll(ctx context.Context, org, dataset string, videos []Video, m Model, done func()) (Ingested, error) {
	var mu sync.Mutex
	var sum Ingested
	problems := make(map[string]VideoProblem)
	g, together := errgroup.WithContext(ctx)
	g.SetLimit(s.opts.Ingesting)
	for _, v := range videos {
		if together.Err() != nil {
			break
		}
		g.Go(func() error {
			out, err := s.ensure(together, org, dataset, v, m)
			mu.Lock()
			defer mu.Unlock()
			var problem *videoError
			switch {
			case errors.As(err, &problem):
				problems[v.ID] = VideoProblem{v.ID, problem.Error(), problem.partly}
				if problem.partly && problem.old {
					sum.Unchanged++
				} else if problem.partly {
					sum.Scored++
				}
			case err != nil:
				return err
			case out.unchanged:
				sum.Unchanged++
			case out.conflict:
				sum.conflicts++
			default:
				sum.Scored++
			}
			done()
			return nil
		})
	}
	err := g.Wait()
	if err == nil {
		err = context.Cause(ctx)
	}
	for _, v := range videos {
		if problem, ok := problems[v.ID]; ok {
			sum.Problems = append(sum.Problems, problem)
		}
	}
	return sum, err
}

// unscored returns the videos that match and are not wholly scored, with the little that scoring them needs, and how many match at all.
func (s *Service) unscored(ctx context.Context, org string, q *Query, m *Model) (videos []Video, matched int, err error) {
	ask := UnscoredQuery{Model: m.ID, Filters: q.Filters, Limit: pageSize}
	for {
		page, err := s.store.Unscored(ctx, org, q.Dataset, ask)
		if err != nil {
			return nil, 0, unavailable("look for videos without scores", err)
		}
		for _, v := range page.Videos {
			videos = append(videos, Video{ID: v.ID, Path: v.Path})
		}
		if len(page.Videos) < ask.Limit {
			return videos, page.Matched, nil
		}
		ask.After = page.Videos[len(page.Videos)-1].ID
	}
}
