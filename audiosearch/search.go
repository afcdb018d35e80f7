package audiosearch

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch/internal/clips"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/turns"
	"github.com/seed-6363c74e/mortise/internal/watch"
)

// Found is what a search in process found.
type Found struct {
	Results  []Result
	Problems []VideoProblem // matching videos that could not be searched, or not all of them

	// LeftOut is how many matching videos have no scores by the model that was searched,
	// while its scorer is away, or not part of this service.
	LeftOut int

	matched int       // videos that passed the filters
	set     uuid.UUID // where a run's results are
	sound   SoundProgress
}

// Search searches at once, and returns what was found. It scores first the matching
// videos that have no scores, which can take long; [Service.Ingest] beforehand spares
// that. While the scorer of the model is away it searches what is scored, and says how
// much is left out. It makes no run.
//
// Errors are [*mortise.ValidationError], [ErrDatasetNotFound] and
// [mortise.ErrUnavailable].
func (s *Service) Search(ctx context.Context, org string, by mortise.Actor, q Query) (Found, error) {
	start := time.Now()
	p := s.checkQuery(&q)
	src, err := s.check(ctx, org, &q, p, (*plug).model)
	if err != nil {
		return Found{}, err
	}
	found, err := s.searchIn(ctx, org, &q, &src, &foundVideos{metadata: make(map[string]metadata.Map)}, new(progress))
	s.observe(ctx, mortise.Observation{Kind: mortise.KindSearched, Organization: org, Object: q.Dataset, Actor: by,
		Detail: Detail{Dataset: q.Dataset, Class: q.Class, Model: src.model}, Duration: time.Since(start), Err: err})
	return found, err
}

// searchIn scores what is not wholly scored by the model, if it can, and ranks then.
func (s *Service) searchIn(
	ctx context.Context, org string, q *Query, src *source, keep *foundVideos, far *progress,
) (Found, error) {
	ctx = s.turns.With(ctx, org)
	if err := s.settle(ctx, org, q, src); err != nil {
		return Found{}, err
	}
	found, err := s.complete(ctx, org, q, src, far)
	if err != nil {
		return Found{}, err
	}
	if found.Results, err = s.rank(ctx, org, q, src.model, keep); err != nil {
		return Found{}, err
	}
	s.moderate(ctx, org, q, found.Results)
	if ctx.Err() != nil { // what was cut off is not finished
		return Found{}, context.Cause(ctx)
	}
	if src.outdated && s.opts.Media != nil {
		s.outdated.add(datasetName{org, q.Dataset})
	}
	return found, nil
}

// settle makes the first model of a family the current one, before anything is scored by
// it. If another service was faster, it chooses again.
func (s *Service) settle(ctx context.Context, org string, q *Query, src *source) error {
	const tries = 3
	for try := 1; src.change != nil && src.change.From == ""; try++ {
		if done, err := s.change(ctx, org, q.Dataset, *src.change); done || err != nil || try == tries {
			return err
		}
		again, err := s.source(ctx, org, q)
		if err != nil {
			return err
		}
		*src = again
	}
	return nil
}

// source chooses where a query is answered from that was checked before.
func (s *Service) source(ctx context.Context, org string, q *Query) (source, error) {
	known, err := s.models(ctx, org, q.Dataset)
	if err != nil {
		return source{}, err
	}
	src, problem, err := s.choose(ctx, q, known, (*plug).model)
	if err == nil && problem != nil {
		var p problems
		problem.Message = "cannot be found any more: the server has another scorer now"
		p.append(*problem)
		err = p.Err()
	}
	return src, err
}

// complete has the matching videos scored that are not, if the scorer is there. It
// returns what is left out.
func (s *Service) complete(ctx context.Context, org string, q *Query, src *source, far *progress) (found Found, err error) {
	if src.scorer == nil {
		u, err := s.store.Unscored(ctx, org, q.Dataset, UnscoredQuery{Model: src.model, Filters: q.Filters, Limit: 1})
		far.set(u.Matched-u.Without, u.Matched)
		return Found{LeftOut: u.Without, matched: u.Matched}, unavailable("look for videos without scores", err)
	}
	// A video may be moved while it is scored. Then what is there now is scored.
	const tries = 3
	for try := 1; ; try++ {
		var videos []Video
		if videos, found.matched, err = s.unscored(ctx, org, q, src.model); err != nil {
			return found, err
		}
		done := found.matched - len(videos)
		far.set(done, found.matched)
		far.sound.Expect(len(videos))
		var more atomic.Int64
		came, err := s.ensureAll(ctx, org, q.Dataset, videos, src.scorer, src.m, s.opts.Ingesting, &far.sound, func() {
			far.set(done+int(more.Add(1)), found.matched)
		})
		if err != nil {
			return found, err
		}
		if !slices.ContainsFunc(came, func(o outcome) bool { return o.kind == moved }) || try == tries {
			var sum Ingested
			sum.count(videos, came)
			found.Problems, found.sound = sum.Problems, SoundProgress(far.sound.Over())
			break
		}
	}
	if src.change != nil && src.change.From != "" && len(q.Filters) == 0 { // it may have scored all by now
		_, err = s.change(ctx, org, q.Dataset, *src.change)
	}
	return found, err
}

// unscored returns the videos that match and are not wholly scored, with the little that
// scoring them needs, and how many match at all.
func (s *Service) unscored(ctx context.Context, org string, q *Query, model string) (videos []Video, matched int, err error) {
	ask := UnscoredQuery{Model: model, Media: s.media, Filters: q.Filters, Limit: pageSize}
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

// rank asks the store for the best segments and describes them.
func (s *Service) rank(ctx context.Context, org string, q *Query, model string, keep *foundVideos) ([]Result, error) {
	ask := ScoreQuery{Model: model, Class: q.Class, Filters: q.Filters, MinScore: clips.Ceil(q.MinScore), Offset: q.Offset, Limit: q.Limit}
	check, err := newFilterCheck(q.Filters)
	if err != nil {
		return nil, err
	}
	// A video may be deleted, or scored anew, between the ranking and the reading. Then
	// the ranking is made again.
	const tries = 5
	for try := 1; ; try++ {
		hits, err := s.store.Search(ctx, org, q.Dataset, ask)
		if err != nil {
			return nil, unavailable("rank", err)
		}
		if err := keep.restart(); err != nil {
			return nil, err
		}
		d := &describing{service: s, org: org, dataset: q.Dataset, model: model, check: check, keep: keep}
		results, complete, err := d.describe(ctx, hits)
		if err != nil || complete || try == tries {
			return results, err
		}
	}
}

// describing makes results of hits.
type describing struct {
	service             *Service
	org, dataset, model string
	check               *filterCheck
	keep                *foundVideos
	videos              map[string]knownVideo
}

// knownVideo is what describes the segments of a video.
type knownVideo struct {
	path    string
	scoring Scoring
}

// describe gives keep the videos of hits. complete is false if some are not there any
// more.
func (d *describing) describe(ctx context.Context, hits []Hit) (results []Result, complete bool, err error) {
	if err := d.read(ctx, hits); err != nil {
		return nil, false, err
	}
	results, complete = make([]Result, 0, len(hits)), true
	for _, hit := range hits {
		k, ok := d.videos[hit.Video]
		if !ok || hit.Window >= k.scoring.Windows {
			complete = false
			continue
		}
		start, end := k.scoring.Span(hit.Window)
		results = append(results, Result{
			VideoID: hit.Video, Path: k.path, Metadata: d.keep.metadata[hit.Video], VideoStart: k.scoring.Start, Start: start, End: end,
			Keyframe: k.scoring.keyframe(hit.Video, start), Score: float64(hit.Score) / clips.Unit,
		})
	}
	return results, complete, d.keep.flush(ctx)
}

// read reads the videos of hits, and what came of scoring them: each video once, and as
// many at a time as the store gives.
func (d *describing) read(ctx context.Context, hits []Hit) error {
	s := d.service
	var ids []string
	seen := make(map[string]bool)
	for _, hit := range hits {
		if !seen[hit.Video] {
			seen[hit.Video] = true
			ids = append(ids, hit.Video)
		}
	}
	d.videos = make(map[string]knownVideo, len(ids))
	if len(ids) == 0 {
		return nil
	}
	scorings, err := s.store.Scorings(ctx, d.org, d.dataset, d.model, ids)
	if err != nil {
		return unavailable("read scorings", err)
	}
	// Searches that found a thousand videos with much metadata would read them on all
	// processors, and others would wait for one.
	turn, err := turns.Begin(s.reading.With(ctx, d.org))
	if err != nil {
		return err
	}
	defer turn.End()
	// About what the last videos took, in nanoseconds: the next ones are likely to be
	// alike.
	cost := 0
	for len(ids) > 0 {
		if err := turn.Step(cost); err != nil {
			return err
		}
		videos, looked, err := s.store.Videos(ctx, d.org, d.dataset, ids)
		turn.End() // what follows waits for other things
		if err != nil {
			return unavailable("read videos", err)
		}
		cost = 0
		for _, v := range videos {
			passes, err := d.check.passes(ctx, v.Metadata)
			if err != nil {
				return err
			}
			cost += 2 * metadataSize(v.Metadata)
			scoring, ok := scorings[v.ID]
			if !passes || !ok {
				continue
			}
			d.videos[v.ID] = knownVideo{v.Path, scoring}
			if err := d.keep.add(ctx, v); err != nil {
				return err
			}
		}
		ids = ids[min(max(looked, 1), len(ids)):]
	}
	return nil
}

// keyframe returns the keyframe nearest to a time, the earlier one of two.
func (s *Scoring) keyframe(video string, at time.Duration) Keyframe {
	if len(s.Keyframes) > 0 {
		i, found := slices.BinarySearch(s.Keyframes, at)
		switch {
		case found:
		case i == len(s.Keyframes), i > 0 && at-s.Keyframes[i-1] <= s.Keyframes[i]-at:
			i--
		}
		at = s.Keyframes[i]
	}
	return Keyframe{ImageID: imageID(video, at), At: at}
}

func (s *Service) moderates(q *Query) bool { return s.opts.Moderate != nil && !q.SkipModeration }

// moderate adds moderation scores, unless the query or the host does without.
func (s *Service) moderate(ctx context.Context, org string, q *Query, results []Result) {
	if !s.moderates(q) || len(results) == 0 {
		return
	}
	answer := make(chan []float64, 1) // a moderator that is left behind must not write where somebody reads
	asked := cloneResults(results)
	err := watch.Run(ctx, s.opts.Stall, s.opts.Grace, s.panicked(ctx, "the moderator"), func(ctx context.Context, _ func(time.Duration)) error {
		scores, err := s.opts.Moderate(ctx, org, asked)
		if err == nil && len(scores) != len(asked) {
			err = fmt.Errorf("the moderator returned %d scores for %d results", len(scores), len(asked))
		}
		answer <- scores
		return err
	})
	if err != nil {
		s.opts.Logger.WarnContext(ctx, "results have no moderation scores", "error", err)
		return
	}
	for i, score := range <-answer {
		if score >= 0 && score <= 1 {
			results[i].Moderation = &score
		}
	}
}

// imageID names a picture of a video.
func imageID(video string, at time.Duration) string {
	return video + "@" + strconv.FormatInt(at.Milliseconds(), 10)
}
