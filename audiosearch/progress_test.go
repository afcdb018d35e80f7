package audiosearch

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
	var h hearing
	now := time.Now()
	is := func(done, total time.Duration, why string) {
		t.Helper()
		p := h.progress(now)
		assert.Equal(t, []time.Duration{done, total}, []time.Duration{p.Done, p.Total}, why)
	}
	const minute = time.Minute
	is(0, 0, "nothing to do")
	h.expect(4)
	is(0, 0, "no length is known")
	var a, b, c gauge
	leaveA := h.join(&a)
	is(0, 0, "it was not opened yet")
	a.length.Store(int64(10 * minute))
	is(0, 40*minute, "four like the one that is known")
	a.got(4*minute, false)
	a.got(5*minute, true)
	is(5*minute, 40*minute, "what was taken over is done")
	assert.Equal(t, minute, time.Duration(a.fresh.Load()))
	a.got(12*minute, true)
	is(12*minute, 48*minute, "longer than its file said")
	a.got(6*minute, true)
	leaveA(&outcome{kind: newlyScored}, nil)
	is(6*minute, 24*minute, "shorter than its file said")

	leaveB := h.join(&b)
	b.got(2*minute, true)
	is(8*minute, 24*minute, "a file that does not say how long it is")
	b.got(9*minute, true)
	is(15*minute, 27*minute, "but it is longer than others")
	leaveB(&outcome{kind: newlyScored}, nil)
	is(15*minute, 30*minute, "7.5 minutes each")
	leaveC := h.join(&c)
	leaveC(&outcome{}, nil)
	is(15*minute, 22*minute+30*time.Second, "one that cannot be searched has no length")

	var mine, twice gauge
	mine.got(minute, true)
	leave, again := h.join(&mine), h.join(&twice)
	mine.got(3*minute, true)
	assert.Equal(t, (8+9+2)*minute, h.fresh+time.Duration(mine.fresh.Load())-h.working[&mine], "what others have had scored before is no speed here")
	leave(&outcome{kind: moved}, nil)
	again(nil, nil)
	is(15*minute, 22*minute+30*time.Second, "what was left is not done")
	h.expect(0)
	is(15*minute, 15*minute, "nothing is left")
	assert.Equal(t, 15*minute, h.over().Total)

	var none *hearing
	none.join(&a)(&outcome{}, nil)

	h.expect(2)
	var cut gauge
	cut.got(5*minute, true)
	leave = h.join(&cut)
	is(20*minute, 30*minute, "another one")
	leave(nil, watch.ErrStalled)
	is(20*minute, 30*minute, "an attempt that fails was as far as it was")
}

// TestLeft: no time is said that nobody knows.
func TestLeft(t *testing.T) {
	for _, test := range []struct {
		p    SoundProgress
		left time.Duration
		ok   bool
	}{
		{SoundProgress{}, 0, false},
		{SoundProgress{Done: time.Minute, Speed: 2}, 0, false},
		{SoundProgress{Total: time.Minute}, 0, false},
		{SoundProgress{Total: time.Minute, Speed: 1e-300}, 0, false},
		{SoundProgress{Total: time.Minute, Speed: -1}, 0, false},
		{SoundProgress{Done: time.Minute, Total: 10 * time.Minute, Speed: 2}, 4*time.Minute + 30*time.Second, true},
		{SoundProgress{Done: 2 * time.Minute, Total: time.Minute, Speed: 2}, 0, true},
	} {
		left, ok := test.p.Left()
		assert.Equal(t, []any{test.left, test.ok}, []any{left, ok}, "%+v", test.p)
	}
}

// TestHearingOfMoreThanTheClockHolds: a duration holds 292 years. A million videos of three
// hours have more, and so have fewer of which one says that it is a day long.
func TestHearingOfMoreThanTheClockHolds(t *testing.T) {
	h := hearing{expected: 1_000_000}
	g := new(gauge)
	h.join(g)
	for _, length := range []time.Duration{3 * time.Hour, 5 * time.Hour, 24 * time.Hour} {
		g.length.Store(int64(length))
		p := h.progress(time.Now())
		assert.GreaterOrEqual(t, p.Total, 2_000_000*time.Hour, "%v each", length)
		p.Speed = 1e6
		_, known := p.Left()
		assert.True(t, known)
	}
}

// TestSpeedOfWhatOthersBegan: what a video has of before somebody waits for it was not scored
// in the time that they see.
func TestSpeedOfWhatOthersBegan(t *testing.T) {
	h, g := hearing{expected: 2}, new(gauge)
	g.got(10*time.Minute, true)
	leave := h.join(g)
	now := time.Now()
	batch := func(to time.Duration) float64 {
		now = now.Add(10 * time.Second)
		g.got(to, true)
		return h.progress(now).Speed
	}
	assert.Zero(t, h.progress(now).Speed)
	assert.Zero(t, batch(11*time.Minute), "nobody knows how long the first batch took")
	assert.InDelta(t, 6, batch(12*time.Minute), 1e-9)
	leave(&outcome{kind: newlyScored}, nil)
	g = new(gauge)
	h.join(g)
	assert.InDelta(t, 6, batch(time.Minute), 1e-9)
}
