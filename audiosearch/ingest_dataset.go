package audiosearch

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch/internal/flights"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/pages"
)

// Ingested is what came of looking at the videos of a dataset.
type Ingested struct {
	Scored    int // videos that have new scores
	Unchanged int // videos whose scores are those of their files already

	// Problems are the videos that cannot be searched, or not all of them; the latter are
	// counted above, too.
	Problems []VideoProblem
}

// Ingest looks at all videos of a dataset, and has those scored that are new or whose
// files have changed, by each scorer that has a class of its own: one whose classes all
// belong to those before it scores only for a search that names its model
// ([Query.Model]). Changed scores replace the old ones in one step. A video that cannot
// be scored is a problem, and not an error. If a scorer has a new model, that takes the
// place of the current one of its family once it has scored what that one has. Ingest
// may run beside searches, and any number of times. If a scorer is away, the others
// score, and the error is [mortise.ErrUnavailable]; so it is if one fails at a video,
// which scores no others then. A service without scorers scores nothing, which is not
// an error.
func (s *Service) Ingest(ctx context.Context, org string, by mortise.Actor, dataset string) (Ingested, error) {
	var total Ingested
	scorers, away, err := s.toScore(ctx, org, dataset)
	if err != nil {
		return total, err
	}
	passes := make(map[*plug]*pass)
	for after := mortise.Cursor(""); ; {
		page, err := s.store.ListVideos(ctx, org, dataset, after, pageSize)
		if err == nil {
			err = pages.Check(page, after, pageSize)
		}
		if err != nil {
			return total, ofDataset(dataset, unavailable("list videos", err))
		}
		videos := make([]Video, len(page.Items))
		for i, v := range page.Items {
			videos[i] = Video{ID: v.ID, Path: v.Path}
		}
		came := make([]outcome, len(videos))
		var left []ready
		for i, r := range scorers {
			one, err := s.inPass(ctx, org, by, dataset, videos, &r, passes)
			for v := range one {
				if i == 0 {
					came[v] = one[v]
				} else {
					came[v].join(&one[v])
				}
			}
			var failure *scorerError
			switch {
			case err == nil:
				left = append(left, r)
			case ctx.Err() == nil && errors.As(err, &failure):
				away = err // the others go on
			default:
				total.count(videos, came)
				return total, err
			}
		}
		scorers = left
		total.count(videos, came)
		if page.Next == "" || len(scorers) == 0 {
			break
		}
		after = page.Next
	}
	for _, r := range scorers {
		if r.change == nil {
			continue
		}
		if _, err := s.change(ctx, org, dataset, *r.change); err != nil {
			return total, err
		}
	}
	return total, away
}

// pass is how far an Ingest is with one scorer.
type pass struct {
	sound hearing
	done  atomic.Int64 // videos
	total int
}

// inPass is ensureAll for an Ingest. It tells the observer how far the scorer is.
func (s *Service) inPass(
	ctx context.Context, org string, by mortise.Actor, dataset string, videos []Video, r *ready, passes map[*plug]*pass,
) ([]outcome, error) {
	p := passes[r.scorer]
	if p == nil {
		u, err := s.store.Unscored(ctx, org, dataset, UnscoredQuery{Model: r.m.ID, Limit: 1})
		if err != nil {
			return make([]outcome, len(videos)), unavailable("look for videos without scores", err)
		}
		p = &pass{total: u.Matched, sound: hearing{fewer: true}}
		p.sound.Expect(u.Without)
		passes[r.scorer] = p
	}
	o := mortise.Observation{Kind: mortise.KindScoring, Organization: org, Object: dataset, Actor: by}
	defer s.telling(ctx, o, Detail{Dataset: dataset, Model: r.m.ID}, p)()
	return s.ensureAll(ctx, org, dataset, videos, r.scorer, r.m, s.opts.Ingesting, &p.sound, func() { p.done.Add(1) })
}

// telling tells the observer once a second how far a pass is, until stop is called.
func (s *Service) telling(ctx context.Context, o mortise.Observation, d Detail, p *pass) (stop func()) {
	if s.opts.Observer == nil {
		return func() {}
	}
	ended := make(chan struct{})
	var teller sync.WaitGroup
	teller.Go(func() {
		p.sound.Pause()
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-ended:
				return
			case <-ticker.C:
			}
			d.Done, d.Sound = int(p.done.Load()), SoundProgress(p.sound.Progress(time.Now()))
			d.Total = max(p.total, d.Done) // there may be more videos by now
			o.Detail = d
			s.observe(ctx, o)
		}
	})
	return func() {
		close(ended)
		teller.Wait()
	}
}

// count adds what came of videos.
func (in *Ingested) count(videos []Video, came []outcome) {
	for i := range came {
		o := &came[i]
		switch o.kind {
		case newlyScored:
			in.Scored++
		case unchanged:
			in.Unchanged++
		}
		if o.problem != "" {
			in.Problems = append(in.Problems, VideoProblem{videos[i].ID, o.problem, o.partly()})
		}
	}
}

// ensureAll has videos scored by a model, unless their scores are those of their files,
// so many at a time, and waits for them. done is called after each, on any goroutine. An
// error is one of the service; then videos that were not looked at count as moved. In a
// transaction of the host's it is one at a time, which nobody else waits for: what they would
// wait for is stored in a transaction that is not theirs.
func (s *Service) ensureAll(
	ctx context.Context, org, dataset string, videos []Video, p *plug, m sound.Model, atOnce int, h *hearing, done func(),
) ([]outcome, error) {
	came := make([]outcome, len(videos))
	hosted := s.hosted(ctx)
	if hosted {
		atOnce = 1
	}
	g, together := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i, v := range videos {
		came[i].kind = moved
		if together.Err() != nil {
			continue
		}
		in := &ingestion{service: s, org: org, dataset: dataset, video: v, scorer: p, model: m, gauge: new(flights.Gauge)}
		key := flightKey{org: org, dataset: dataset, video: v.ID, path: v.Path, model: m.ID}
		if hosted {
			key.alone = in
		}
		g.Go(func() error {
			o, err := s.flights.Do(together, key, in.gauge, h.join, in.work)
			if err == nil {
				came[i] = *o
				done()
			} else if together.Err() == nil {
				err = unavailable("score a video", err)
			}
			return err
		})
	}
	err := g.Wait()
	if err == nil {
		err = context.Cause(ctx)
	}
	return came, err
}
