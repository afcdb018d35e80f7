package flights

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Gauge is how far the scoring of one video is, in nanoseconds of sound.
type Gauge struct {
	Length atomic.Int64 // as the file says; 0: it does not, or was not looked at yet
	Heard  atomic.Int64 // scored, from the start of the video on
	// Scored here; more than Heard if a part was scored twice, less if one was taken
	// over.
	fresh atomic.Int64
}

// Got notes that all up to a time of the video is scored. fresh says that it was scored
// here, and not taken over.
func (g *Gauge) Got(to time.Duration, fresh bool) {
	was := g.Heard.Swap(int64(to))
	if fresh {
		g.fresh.Add(max(int64(to)-was, 0))
	}
}

// Hearing is how far the scoring of some videos is.
type Hearing struct {
	mu sync.Mutex
	// Videos that are still to be scored, those that are being scored included.
	expected int
	working  map[*Gauge]time.Duration // what was fresh of each when it was joined
	ended    time.Duration            // the sound of those that were scored
	known    int                      // how many these are
	fresh    time.Duration            // of videos that nobody works at any more
	meter    meter
	failed   bool // what was followed is left as it was
}

// Progress is how much sound of some videos is scored, as in audiosearch.SoundProgress.
type Progress struct {
	Done, Total time.Duration // whole milliseconds
	Speed       float64       // seconds of sound in a second
}

// Expect sets how many videos are still to be scored.
func (h *Hearing) Expect(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.expected = n
}

// Join follows the scoring of a video until leave is called: with whether the video counts
// as one of those expected, and with what failed. After an error the progress stays as it
// is, since nobody goes on.
func (h *Hearing) Join(g *Gauge) (leave func(counts bool, err error)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.working == nil {
		h.working = make(map[*Gauge]time.Duration)
	}
	h.working[g] = time.Duration(g.fresh.Load())
	return func(counts bool, err error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if err != nil || h.failed {
			h.failed = true
			return
		}
		h.fresh += time.Duration(g.fresh.Load()) - h.working[g]
		delete(h.working, g)
		if counts {
			h.expected = max(h.expected-1, 0)
			if heard := time.Duration(g.Heard.Load()); heard > 0 {
				h.ended += heard
				h.known++
			}
		}
	}
}

// Progress is how far it is at a time. It is to be called about once a second, for the
// sake of the speed.
func (h *Hearing) Progress(now time.Time) Progress {
	h.mu.Lock()
	defer h.mu.Unlock()
	fresh, done, total := h.fresh, h.ended, h.ended
	lengths, known := h.ended, h.known // what the mean is of
	rest := h.expected
	var guessed []time.Duration // what was heard of those of which nobody knows how long they are
	for g, joined := range h.working {
		fresh += time.Duration(g.fresh.Load()) - joined
		heard, length := time.Duration(g.Heard.Load()), time.Duration(g.Length.Load())
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
	p := Progress{Done: done.Truncate(time.Millisecond), Speed: h.meter.speed(now, fresh)}
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

// Pause is for a time in which nobody scores, which does not count for the speed.
func (h *Hearing) Pause() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.meter.marks = nil
}

// Over is the progress when all is done, and nothing is left to be estimated.
func (h *Hearing) Over() Progress {
	h.mu.Lock()
	defer h.mu.Unlock()
	done := h.ended.Truncate(time.Millisecond)
	return Progress{Done: done, Total: done, Speed: h.meter.last}
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
