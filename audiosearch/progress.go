package audiosearch

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
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

// gauge is how far the scoring of one video is. Times are nanoseconds of sound.
type gauge struct {
	length atomic.Int64 // as the file says; 0: it does not, or was not looked at yet
	heard  atomic.Int64 // scored, from the start of the video on
	// Scored here; more than heard if a part was scored twice, less if one was taken
	// over.
	fresh atomic.Int64
}

// got notes that all up to a time of the video is scored. fresh: it was scored here.
func (g *gauge) got(to time.Duration, fresh bool) {
	was := g.heard.Swap(int64(to))
	if fresh {
		g.fresh.Add(max(int64(to)-was, 0))
	}
}

// hearing is how far the scoring of some videos is. A nil one takes no notes.
type hearing struct {
	mu sync.Mutex
	// Videos that are still to be scored, those that are being scored included.
	expected int
	working  map[*gauge]time.Duration // what was fresh of each when it was joined
	ended    time.Duration            // the sound of those that were scored
	known    int                      // how many these are
	fresh    time.Duration            // of videos that nobody works at any more
	meter    meter
	failed   bool // what was followed is left as it was

	// fewer: the videos at hand are more than those expected, which lack scores.
	fewer bool
}

// counts reports whether a video was one of those expected, by what came of it.
func (h *hearing) counts(o *outcome) bool {
	return o.kind != moved && (!h.fewer || o.kind != unchanged)
}

// expect says how many videos are to be scored from now on.
func (h *hearing) expect(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.expected = n
}

// join follows the scoring of a video until the function is called that it returns, with
// what came of it. After an error the progress stays: nobody goes on.
func (h *hearing) join(g *gauge) (leave func(o *outcome, err error)) {
	if h == nil {
		return func(*outcome, error) {}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.working == nil {
		h.working = make(map[*gauge]time.Duration)
	}
	h.working[g] = time.Duration(g.fresh.Load())
	return func(o *outcome, err error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if err != nil || h.failed {
			h.failed = true
			return
		}
		h.fresh += time.Duration(g.fresh.Load()) - h.working[g]
		delete(h.working, g)
		if o != nil && h.counts(o) {
			h.expected = max(h.expected-1, 0)
			if heard := time.Duration(g.heard.Load()); heard > 0 {
				h.ended += heard
				h.known++
			}
		}
	}
}

// progress is how far it is at a time. It is to be called about once a second, for the
// sake of the speed.
func (h *hearing) progress(now time.Time) SoundProgress {
	h.mu.Lock()
	defer h.mu.Unlock()
	fresh, done, total := h.fresh, h.ended, h.ended
	lengths, known := h.ended, h.known // what the mean is of
	rest := h.expected
	var guessed []time.Duration // what was heard of those of which nobody knows how long they are
	for g, joined := range h.working {
		fresh += time.Duration(g.fresh.Load()) - joined
		heard, length := time.Duration(g.heard.Load()), time.Duration(g.length.Load())
		done += heard
		switch {
		case length > 0:
			total += max(length, heard)
			lengths += max(length, heard)
			known++
			rest--
		case heard > 0:
			guessed = append(guessed, heard)
			rest--
		}
	}
	p := SoundProgress{Done: done.Truncate(time.Millisecond), Speed: h.meter.speed(now, fresh)}
	if known > 0 {
		mean := lengths / time.Duration(known)
		for _, heard := range guessed {
			total += max(heard, mean)
		}
		p.Total = plus(total, max(rest, 0), mean).Truncate(time.Millisecond)
	}
	return p
}

// plus returns d and so many others, or the longest duration: those of many videos can be
// longer than that.
func plus(d time.Duration, n int, each time.Duration) time.Duration {
	if each > 0 && time.Duration(n) > (math.MaxInt64-d)/each {
		return math.MaxInt64
	}
	return d + time.Duration(n)*each
}

// pause is for a time in which nobody scores, which does not count for the speed.
func (h *hearing) pause() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.meter.marks = nil
}

// over is progress once all is done, when nothing is left to be estimated.
func (h *hearing) over() SoundProgress {
	h.mu.Lock()
	defer h.mu.Unlock()
	done := h.ended.Truncate(time.Millisecond)
	return SoundProgress{Done: done, Total: done, Speed: h.meter.last}
}

// meter measures a speed. Sound is scored a batch at a time, which may be minutes of it
// in many seconds. So the speed is that between two batches: from when one was done until
// another one was. There is none before.
type meter struct {
	marks []moment // when there was more; the time between two is that of a batch, or longer
	last  float64
}

type moment struct {
	at   time.Time
	done time.Duration
}

// What a meter looks back at.
const (
	meterSpan  = 5 * time.Minute
	meterLeast = 4           // marks, however old they are
	meterMost  = 1000        // marks
	meterShort = time.Second // less says nothing
)

// speed takes what is done in all at a time, and returns the speed, or 0.
func (m *meter) speed(now time.Time, done time.Duration) float64 {
	switch n := len(m.marks); {
	case n == 0 && done <= 0:
		return m.last
	case n == 0 || done > m.marks[n-1].done:
		m.marks = append(m.marks, moment{now, done})
	}
	for n := len(m.marks); n > meterMost || n > meterLeast && now.Sub(m.marks[0].at) > meterSpan; n-- {
		m.marks = m.marks[1:]
	}
	first, last := m.marks[0], m.marks[len(m.marks)-1]
	took, batches := last.at.Sub(first.at), len(m.marks)-1
	if batches == 0 {
		return m.last
	}
	// A batch that takes much longer than those before has slowed it down.
	if late := now.Sub(last.at); late > 2*took/time.Duration(batches) {
		took += late
	}
	if took >= meterShort {
		m.last = (last.done - first.done).Seconds() / took.Seconds()
	}
	return m.last
}
