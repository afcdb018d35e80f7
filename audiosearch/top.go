package audiosearch

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Heard is a sound class and how sure the model is to hear it.
type Heard struct {
	Class Class
	Score float64 // in [0,1]: the best of all segments that touch the stretch
}

// Top returns what is heard in a stretch of a video: at most n classes, the surest first, ties in AudioSet order. The video must be scored, or the
// error is [ErrNotScored].
func (s *Service) Top(ctx context.Context, org, dataset, video string, from, to time.Duration, n int) ([]Heard, error) {
	var p problems
	if from < 0 || to <= from {
		p.add("to", ProblemInvalid, "must be after from, which must be 0 or more")
	}
	if n < 1 || n > NumClasses {
		p.add("n", ProblemInvalid, "must be 1 to %d", NumClasses)
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	m, err := s.model(ctx)
	if err != nil {
		return nil, err
	}
	scoring, err := s.store.Scoring(ctx, org, dataset, video, m.ID)
	if err != nil {
		return nil, unavailable("read a scoring", err)
	}
	if !scoring.Scored() {
		return nil, ErrNotScored
	}
	first := 0
	if from >= scoring.Window {
		first = int((from-scoring.Window)/scoring.Hop) + 1 // the first segment that ends after from
	}
	last := int((min(to, scoring.Duration) + scoring.Hop - 1) / scoring.Hop) // the first that begins at or after to
	if from >= scoring.Duration {
		last = first // the last segment may be longer than the sound
	}
	best := make([]uint16, len(scoring.Classes))
	const step = 1000 // segments at a time
	for at := first; at < last; at += step {
		rows, err := s.store.WindowScores(ctx, org, dataset, video, m.ID, at, min(at+step, last))
		if err != nil {
			return nil, unavailable("read scores", err)
		}
		for _, row := range rows {
			for i := range min(len(row), len(best)) {
				best[i] = max(best[i], row[i])
			}
		}
	}
	heard := make([]Heard, len(best))
	for i, score := range best {
		heard[i] = Heard{scoring.Classes[i], float64(score) / ScoreUnit}
	}
	slices.SortStableFunc(heard, func(a, b Heard) int { return cmp.Compare(b.Score, a.Score) })
	return heard[:min(n, len(heard))], nil
}

// imageID names a picture of a video.
func imageID(video string, at time.Duration) string {
	return video + "@" + strconv.FormatInt(at.Milliseconds(), 10)
}

// ParseImageID returns the video and the time that a [Keyframe.ImageID] names.
func ParseImageID(id string) (video string, at time.Duration, ok bool) {
	i := strings.LastIndexByte(id, '@')
	if i < 1 {
		return "", 0, false
	}
	ms, err := strconv.ParseInt(id[i+1:], 10, 64)
	if err != nil || ms < 0 || ms > int64(1000*time.Hour/time.Millisecond) {
		return "", 0, false
	}
	return id[:i], time.Duration(ms) * time.Millisecond, true
}

// validText reports whether a text can be stored everywhere.
func validText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// joinNames lists names that may have commas themselves.
func joinNames(names []string) string { return strings.Join(names, "; ") }
