package audiosearch

import (
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/internal/flights"
)

// SoundProgress is how much sound of some videos is scored by a model. It is for people
// who wait for hours: only Done is counted. Total is an estimate until the length of
// every video is known, and what follows from it is one, too. The zero value says that
// nothing is known, or that there is nothing to score. Durations are whole milliseconds.
type SoundProgress struct {
	// Done is the sound that is scored. It has what an earlier attempt, or another
	// process, has left of a video that is being scored again.
	Done time.Duration

	// Total is the sound of all these videos: of those that have been scored, of those
	// that are being scored, as far as their files say how long they are, and for each of
	// the others the mean of these. 0: nothing is known of any.
	Total time.Duration

	// Speed is how many seconds of sound were scored in a second, lately: in the last
	// five minutes, or longer if little happened in them. What was taken over from an
	// earlier attempt does not count. 0: not known yet.
	Speed float64
}

// Left estimates how long the rest takes at the present speed. ok is false if nobody can
// say.
func (p SoundProgress) Left() (left time.Duration, ok bool) {
	if p.Total <= 0 || p.Speed <= 0 {
		return 0, false
	}
	seconds := max(p.Total-p.Done, 0).Seconds() / p.Speed
	if seconds > maxLeft.Seconds() {
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)).Round(time.Second), true
}

// maxLeft is the longest time that is worth saying; a longer one could overflow.
const maxLeft = 10 * 365 * 24 * time.Hour

// hearing is how far the scoring of some videos is. A nil one takes no notes.
type hearing struct {
	flights.Hearing

	// fewer: the videos at hand are more than those expected, which lack scores.
	fewer bool
}

// counts reports whether a video was one of those expected, by what came of it.
func (h *hearing) counts(o *outcome) bool {
	return o.kind != moved && (!h.fewer || o.kind != unchanged)
}

// join is Hearing.Join for those who wait for an outcome.
func (h *hearing) join(g *flights.Gauge) (leave func(o *outcome, err error)) {
	if h == nil {
		return func(*outcome, error) {}
	}
	left := h.Join(g)
	return func(o *outcome, err error) { left(o != nil && h.counts(o), err) }
}

// flightKey says which scorings are the same.
type flightKey struct {
	org, dataset, video, path, model string

	alone *ingestion // which nobody joins; nil: whoever comes
}
