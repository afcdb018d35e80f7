package audiosearch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise/internal/turns"
)

// Found is what a search in process found.
type Found struct {
	Results  []Result
	Problems []VideoProblem // matching videos that could not be searched, or not all of them

	matched int       // videos that passed the filters
	set     uuid.UUID // where a run's results are
}

// Search searches at once, and returns what was found. It scores first the matching
// videos that have no scores, which can take long; [Service.Ingest] beforehand spares
// that. It makes no run.
//
// Errors are *ValidationError, [ErrDatasetNotFound] and [ErrUnavailable].
func (s *Service) Search(ctx context.Context, org, actor string, q Query) (Found, error) {
	start := time.Now()
	if _, err := s.check(ctx, org, &q); err != nil {
		return Found{}, err
	}
	found, err := s.search(ctx, org, &q, &foundVideos{metadata: make(map[string]Metadata)}, func(int, int) {})
	s.observe(ctx, Observation{Kind: KindSearched, Organization: org, Dataset: q.Dataset, Actor: actor, Class: q.Class, Duration: time.Since(start), Err: err})
	return found, err
}

// search scores what is not wholly scored and ranks then.
func (s *Service) search(ctx context.Context, org string, q *Query, keep *foundVideos, progress func(done, total int)) (Found, error) {
	ctx = s.turns.With(ctx, org)
	m, err := s.model(ctx)
	if err != nil {
		return Found{}, err
	}
	if !m.Predicts(q.Class) {
		var p problems
		p.add("audio_class", ProblemUnsupportedClass, "cannot be found any more: the server has another scorer now")
		return Found{}, p.err()
	}
	var ingested Ingested
	var matched int
	// A video may be moved while it is scored. Then what is there now is scored.
	const tries = 3
	for try := 1; ; try++ {
		var videos []Video
		if videos, matched, err = s.unscored(ctx, org, q, &m); err != nil {
			return Found{}, err
		}
		done := matched - len(videos)
		progress(done, matched)
		var more atomic.Int64
		ingested, err = s.ensureAll(ctx, org, q.Dataset, videos, m, func() {
			progress(done+int(more.Add(1)), matched)
		})
		if err != nil {
			return Found{}, err
		}
		if ingested.conflicts == 0 || try == tries {
			break
		}
	}
	results, err := s.rank(ctx, org, q, &m, keep)
	if err != nil {
		return Found{}, err
	}
	s.moderate(ctx, org, q, results)
	if ctx.Err() != nil { // what was cut off is not finished
		return Found{}, context.Cause(ctx)
	}
	return Found{Results: results, Problems: ingested.Problems, matched: matched}, nil
}

// rank asks the store for the best segments and describes them.
func (s *Service) rank(ctx context.Context, org string, q *Query, m *Model, keep *foundVideos) ([]Result, error) {
	ask := ScoreQuery{Model: m.ID, Class: q.Class, Filters: q.Filters, MinScore: ceilScore(q.MinScore), Offset: q.Offset, Limit: q.Limit}
	// A video may be deleted, or scored anew, between the ranking and the reading. Then the ranking is made again.
	const tries = 5
	for try := 1; ; try++ {
		hits, err := s.store.Search(ctx, org, q.Dataset, ask)
		if err != nil {
			return nil, unavailable("rank", err)
		}
		if err := keep.restart(); err != nil {
			return nil, err
		}
		results, complete, err := s.describe(ctx, org, q, m, hits, keep)
		if err != nil || complete || try == tries {
			return results, err
		}
	}
}

// ceilScore returns the least stored score that is not below min.
func ceilScore(min float64) uint16 {
	for q := int(min * ScoreUnit); q < ScoreUnit; q++ {
		if float64(q)/ScoreUnit >= min {
			return uint16(q)
		}
	}
	return ScoreUnit
}

// describe makes results of hits, and gives keep their videos. complete is false if some
// are not there any more.
func (s *Service) describe(ctx context.Context, org string, q *Query, m *Model, hits []Hit, keep *foundVideos) (results []Result, complete bool, err error) {
	videos, check := make(map[string]knownVideo), newFilterCheck(q.Filters)
	results, complete = make([]Result, 0, len(hits)), true
	// Searches that found a thousand videos with much metadata would read them on all
	// processors, and others would wait for one.
	turn, err := turns.Begin(s.reading.With(ctx, org))
	if err != nil {
		return nil, false, err
	}
	defer turn.End()
	// About what the last video took, in nanoseconds: the next one is likely to be alike.
	cost := 0
	for _, hit := range hits {
		k, ok := videos[hit.Video]
		if !ok {
			if err := turn.Step(cost); err != nil {
				return nil, false, err
			}
			var video Video
			video, k, err = s.foundVideo(ctx, org, q.Dataset, hit.Video, m.ID)
			turn.End() // what follows waits for other things
			if err == nil && !k.gone {
				var passes bool
				passes, err = check.passes(ctx, video.Metadata)
				k.gone = !passes
			}
			if err != nil {
				return nil, false, err
			}
			cost = 2 * video.Metadata.size()
			if !k.gone {
				if err := keep.add(ctx, video); err != nil {
					return nil, false, err
				}
			}
			videos[hit.Video] = k
		}
		if k.gone || hit.Window >= k.scoring.Windows {
			complete = false
			continue
		}
		start, end := k.scoring.Span(hit.Window)
		results = append(results, Result{
			VideoID: hit.Video, Path: k.path, Metadata: keep.metadata[hit.Video], Start: start, End: end,
			Keyframe: k.scoring.keyframe(hit.Video, start), Score: float64(hit.Score) / ScoreUnit,
		})
	}
	return results, complete, keep.flush(ctx)
}

// knownVideo is what describes the segments of a video.
type knownVideo struct {
	path    string
	scoring Scoring
	gone    bool // it is not there any more, or does not pass
}

// foundVideo reads a video in which something was found.
func (s *Service) foundVideo(ctx context.Context, org, dataset, id, model string) (v Video, k knownVideo, err error) {
	v, err = s.store.Video(ctx, org, dataset, id)
	if err == nil {
		k.scoring, err = s.store.Scoring(ctx, org, dataset, id, model)
	}
	if errors.Is(err, ErrVideoNotFound) || errors.Is(err, ErrNotScored) {
		k.gone = true
		return v, k, nil
	}
	k.path = v.Path
	return v, k, unavailable("read a video", err)
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

func (s *Service) moderates(q *Query) bool { return s.opts.Moderator != nil && !q.SkipModeration }

// moderate adds moderation scores, unless the query or the host does without.
func (s *Service) moderate(ctx context.Context, org string, q *Query, results []Result) {
	if !s.moderates(q) || len(results) == 0 {
		return
	}
	answer := make(chan []float64, 1) // a moderator that is left behind must not write where somebody reads
	asked := CloneResults(results)
	err := watched(ctx, s.opts.Stall, s.opts.Grace, s.panicked(ctx, "the moderator"), func(ctx context.Context, _ func(time.Duration)) error {
		scores, err := s.opts.Moderator.Moderate(ctx, org, asked)
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
