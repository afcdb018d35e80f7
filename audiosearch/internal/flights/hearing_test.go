package flights

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/seed-6363c74e/mortise/internal/watch"
)

// TestMeter: a speed is that between two batches, and follows what happens.
func TestMeter(t *testing.T) {
	var m meter
	now, done := time.Now(), time.Duration(0)
	tick := func(seconds int, sound time.Duration) (speed float64) {
		for i := range seconds {
			if now = now.Add(time.Second); i == seconds-1 {
				done += sound
			}
			speed = m.speed(now, done)
		}
		return speed
	}
	assert.Zero(t, tick(60, 0), "files are opened")
	assert.Zero(t, tick(1, time.Minute), "nobody knows how long the first batch took")
	for range 4 {
		assert.InDelta(t, 6, tick(10, time.Minute), 1e-9)
	}
	for range 19 { // within a batch the speed stays
		assert.InDelta(t, 6, tick(1, 0), 1e-9)
	}
	assert.Less(t, tick(41, 0), 3.0, "nothing comes any more")
	for range 40 { // five minutes later nothing before counts
		tick(10, time.Second)
	}
	assert.InDelta(t, 0.1, tick(10, time.Second), 1e-9)
	m.marks = nil // a pause
	now = now.Add(time.Hour)
	assert.InDelta(t, 0.1, tick(1, 0), 1e-9)
	assert.InDelta(t, 2, tick(10, 20*time.Second), 1e-9)
	for range 3 * meterMost {
		tick(1, time.Second)
	}
	assert.LessOrEqual(t, len(m.marks), int(meterSpan/time.Second)+1)

	var fast meter
	assert.Zero(t, fast.speed(now, time.Hour))
	assert.Zero(t, fast.speed(now.Add(meterShort-1), 2*time.Hour), "too short to say")
}

// TestHearing: what is counted, what is estimated, and what is not known.
func TestHearing(t *testing.T) {
	var h Hearing
	now := time.Now()
	is := func(done, total time.Duration, why string) {
		t.Helper()
		p := h.Progress(now)
		assert.Equal(t, []time.Duration{done, total}, []time.Duration{p.Done, p.Total}, why)
	}
	const minute = time.Minute
	is(0, 0, "nothing to do")
	h.Expect(4)
	is(0, 0, "no length is known")
	var a, b, c Gauge
	leaveA := h.Join(&a)
	is(0, 0, "it was not opened yet")
	a.Length.Store(int64(10 * minute))
	is(0, 40*minute, "four like the one that is known")
	a.Got(4*minute, false)
	a.Got(5*minute, true)
	is(5*minute, 40*minute, "what was taken over is done")
	assert.Equal(t, minute, time.Duration(a.fresh.Load()))
	a.Got(12*minute, true)
	is(12*minute, 48*minute, "longer than its file said")
	a.Got(6*minute, true)
	leaveA(true, nil)
	is(6*minute, 24*minute, "shorter than its file said")

	leaveB := h.Join(&b)
	b.Got(2*minute, true)
	is(8*minute, 24*minute, "a file that does not say how long it is")
	b.Got(9*minute, true)
	is(15*minute, 27*minute, "but it is longer than others")
	leaveB(true, nil)
	is(15*minute, 30*minute, "7.5 minutes each")
	leaveC := h.Join(&c)
	leaveC(true, nil)
	is(15*minute, 22*minute+30*time.Second, "one that cannot be searched has no length")

	var mine, twice Gauge
	mine.Got(minute, true)
	leave, again := h.Join(&mine), h.Join(&twice)
	mine.Got(3*minute, true)
	assert.Equal(t, (8+9+2)*minute, h.fresh+time.Duration(mine.fresh.Load())-h.working[&mine], "what others have had scored before is no speed here")
	leave(false, nil)
	again(false, nil)
	is(15*minute, 22*minute+30*time.Second, "what was left is not done")
	h.Expect(0)
	is(15*minute, 15*minute, "nothing is left")
	assert.Equal(t, 15*minute, h.Over().Total)

	h.Expect(2)
	var cut Gauge
	cut.Got(5*minute, true)
	leave = h.Join(&cut)
	is(20*minute, 30*minute, "another one")
	leave(false, watch.ErrStalled)
	is(20*minute, 30*minute, "an attempt that fails was as far as it was")
}

// TestHearingOfMoreThanTheClockHolds: a duration holds 292 years. A million videos of three
// hours have more, and so have fewer of which one says that it is a day long.
func TestHearingOfMoreThanTheClockHolds(t *testing.T) {
	h := Hearing{expected: 1_000_000}
	g := new(Gauge)
	h.Join(g)
	for _, length := range []time.Duration{3 * time.Hour, 5 * time.Hour, 24 * time.Hour} {
		g.Length.Store(int64(length))
		p := h.Progress(time.Now())
		assert.GreaterOrEqual(t, p.Total, 2_000_000*time.Hour, "%v each", length)
	}
}

// TestSpeedOfWhatOthersBegan: what a video has of before somebody waits for it was not scored
// in the time that they see.
func TestSpeedOfWhatOthersBegan(t *testing.T) {
	h, g := Hearing{expected: 2}, new(Gauge)
	g.Got(10*time.Minute, true)
	leave := h.Join(g)
	now := time.Now()
	batch := func(to time.Duration) float64 {
		now = now.Add(10 * time.Second)
		g.Got(to, true)
		return h.Progress(now).Speed
	}
	assert.Zero(t, h.Progress(now).Speed)
	assert.Zero(t, batch(11*time.Minute), "nobody knows how long the first batch took")
	assert.InDelta(t, 6, batch(12*time.Minute), 1e-9)
	leave(true, nil)
	g = new(Gauge)
	h.Join(g)
	assert.InDelta(t, 6, batch(time.Minute), 1e-9)
}
