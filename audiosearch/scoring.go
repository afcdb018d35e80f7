package audiosearch

import (
	"context"
	"errors"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// Scoring is what came of scoring one video by one model: scores, or the reason why
// there are none; both if only a part of the file is there.
type Scoring struct {
	Model string // its ID

	// What the file was like, so that a change of it is noticed.
	FileSize int64
	FileTime time.Time // when it was changed last; microseconds, UTC
	Digest   [32]byte  // SHA-256 of its content

	Media string // the ID of the [sound.Media] that decoded it

	At time.Time

	// Problem says why the file cannot be searched, or not all of it; "" if all of it was
	// scored. If nothing was, all below is zero.
	Problem string

	Start     time.Duration   // of the file's own clock ([sound.Info]), whole milliseconds
	Duration  time.Duration   // of the sound, whole milliseconds
	Window    time.Duration   // of the model
	Hop       time.Duration   // of the model
	Windows   int             // how many segments; segment i begins at i*Hop
	HasVideo  bool            // if not, there is a keyframe at the start of each segment
	Keyframes []time.Duration // ascending, whole milliseconds
	Classes   []sound.Class   // that have scores, in the order of the model
}

// Scored reports whether there are scores, of a Scoring that was stored: a missing one,
// which is the zero value, has no Problem either.
func (s *Scoring) Scored() bool { return s.Problem == "" || s.Windows > 0 }

// Span returns when segment i begins and ends.
func (s *Scoring) Span(i int) (start, end time.Duration) {
	start = (time.Duration(i) * s.Hop).Round(time.Millisecond)
	return start, min((time.Duration(i)*s.Hop + s.Window).Round(time.Millisecond), max(s.Duration, start))
}

// Scoring returns what came of scoring a video by the current model of the first family
// by which it was tried, in the order of the scorers, or [ErrNotScored].
func (s *Service) Scoring(ctx context.Context, org, dataset, video string) (Scoring, error) {
	all, err := s.Scorings(ctx, org, dataset, video)
	if err != nil {
		return Scoring{}, err
	}
	return all[0], nil
}

// Scorings returns what came of scoring a video by the current models that tried it, in
// the order of the scorers, or [ErrNotScored]. Segments are those of a model: two models
// may cut the same sound in different places.
func (s *Service) Scorings(ctx context.Context, org, dataset, video string) ([]Scoring, error) {
	known, err := s.models(ctx, org, dataset)
	if err != nil {
		return nil, err
	}
	current := s.inOrder(known)
	if len(current) > 1 { // the order of the scorers counts
		asking, cancel := context.WithTimeout(ctx, modelWait)
		for _, p := range s.plugs {
			_, _ = p.quick(asking) // who is away comes later
		}
		cancel()
		current = s.inOrder(known)
	}
	var all []Scoring
	for _, m := range current {
		scoring, err := s.scoring(ctx, org, dataset, video, m.ID)
		switch {
		case err == nil:
			all = append(all, scoring)
		case !errors.Is(err, ErrNotScored):
			return nil, err
		}
	}
	if all == nil {
		return nil, ErrNotScored
	}
	return all, nil
}

// scoring returns what came of scoring a video by a model, or ErrNotScored.
func (s *Service) scoring(ctx context.Context, org, dataset, video, model string) (Scoring, error) {
	found, err := s.store.Scorings(ctx, org, dataset, model, []string{video})
	if err != nil {
		return Scoring{}, unavailable("read a scoring", err)
	}
	scoring, ok := found[video]
	if !ok {
		return Scoring{}, ErrNotScored
	}
	return scoring, nil
}
