package signal

import "math"

// The frequencies of alarms: 520 Hz for those that wake people, about 3 kHz for most.
const (
	lowestAlarm  = 400.0
	highestAlarm = 5000.0
)

// smokeAlarm looks for the evacuation signal of ISO 8201 (also T3 of NFPA 72) on a tone
// between 400 and 5000 Hz: on for 0.5 s three
// times, 0.5 s apart, then 1.5 s of pause. The score is the least of
//   - how near each of the times is to what it should be: 1 up to 15 %, 0 beyond 35 %; of
//     the pauses before and after the clip may cut one, and of the other 1.3 s must be
//     there;
//   - how much of the power the tone holds: 0 at 40 %, even noise aside, 1 from 65 % on.
//
// What is left goes through lasting. If four beeps come together anywhere, the score is
// 0.
func (c *clip) smokeAlarm() (best float64) {
	hz := c.alarmTone()
	if hz <= 0 {
		return 0
	}
	c.tones = c.tones[:0]
	for i := range c.frames {
		power, _ := toneNear(c.spectrumOf(i), hz, binHz)
		c.tones = append(c.tones, toneFrame{ramp(c.frames[i].purity(power), 0.4, 0.65), power})
	}
	beeps := c.beeps(c.level(func(t toneFrame) bool { return t.fit > 0.3 }))
	if mostTogether(beeps) > 3 {
		return 0 // a group of four that the clip cuts looks like one of three
	}
	for i := 0; i+2 < len(beeps); i++ {
		three := beeps[i : i+3]
		fit := (three[0].fit + three[1].fit + three[2].fit) / 3
		score := min(fit, c.pauses(beeps, i, i+2),
			takes(three[0].seconds(), 0.5), takes(three[1].seconds(), 0.5), takes(three[2].seconds(), 0.5),
			takes(three[1].on-three[0].off, 0.5), takes(three[2].on-three[1].off, 0.5))
		best = max(best, lasting(score, c.onPattern(beeps)))
	}
	return best
}

// alarmTone is the frequency of the purest part of the clip that may be an alarm, 0 if
// there is none: the bin where most of the power of pure frames is.
func (c *clip) alarmTone() (hz float64) {
	power := c.spectrum[:frameBins]
	clear(power)
	for i := range c.frames {
		f := &c.frames[i]
		if f.ridge.hz >= lowestAlarm && f.ridge.hz <= highestAlarm && f.ridge.bins <= 6 && f.purity(f.ridge.power) > 0.4 {
			power[int(f.ridge.hz/binHz+0.5)] += float32(f.ridge.power)
		}
	}
	var top float32
	for k, p := range power {
		if p > top {
			top, hz = p, float64(k)*binHz
		}
	}
	return hz
}

// takes says how near a time is to what it should be.
func takes(seconds, want float64) float64 { return ramp(math.Abs(seconds-want), 0.35*want, 0.15*want) }

const alarmPause = 1.5

// pause is what is known of the time before or after a group of beeps: whether it may be
// a pause of the alarm, and how sure it is one.
type pause struct{ may, is float64 }

// newPause judges a pause between two beeps, or one that the clip cuts. One of those may
// be longer, and what is seen of it has at most 0.9 as proof; if it is longer than any
// pause of an alarm, it has 0.45.
func newPause(seconds float64, cut bool) pause {
	if !cut {
		return pause{takes(seconds, alarmPause), takes(seconds, alarmPause)}
	}
	if seconds > 1.35*alarmPause {
		return pause{1, 0.45}
	}
	return pause{1, 0.9 * ramp(seconds, 0.65*alarmPause, 0.85*alarmPause)}
}

// pauses scores the pauses around the beeps from first to last: no other beep may be
// there, and one of the two must be seen.
func (c *clip) pauses(beeps []beep, first, last int) float64 {
	before, after := newPause(beeps[first].on, true), newPause(c.seconds()-beeps[last].off, true)
	if first > 0 {
		before = newPause(beeps[first].on-beeps[first-1].off, false)
	}
	if last+1 < len(beeps) {
		after = newPause(beeps[last+1].on-beeps[last].off, false)
	}
	return min(before.may, after.may, max(before.is, after.is))
}

// mostTogether is how many beeps come one after another without a pause.
func mostTogether(beeps []beep) (most int) {
	together := 0
	for i, b := range beeps {
		if together++; i > 0 && b.on-beeps[i-1].off > 1 {
			together = 1
		}
		most = max(most, together)
	}
	return most
}

// onPattern is how much of the clip the beeps reach over, and a pause.
func (c *clip) onPattern(beeps []beep) float64 {
	return (beeps[len(beeps)-1].off - beeps[0].on + alarmPause) / c.seconds()
}
