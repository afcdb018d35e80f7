package audiosearch

import (
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

	At time.Time

	// Problem says why the file cannot be searched, or not all of it; "" if all of it was
	// scored. If nothing was, all below is zero.
	Problem string

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
