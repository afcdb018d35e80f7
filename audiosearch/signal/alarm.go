package signal

import "math"

// The frequencies of alarms: 520 Hz for those that wake people, about 3 kHz for most.
const (
	lowestAlarm  = 400.0
	highestAlarm = 5000.0
)

// smokeAlarm looks for the evacuation signal of ISO 8201 (also T3 of NFPA 72) on a tone between 400 and 5000 Hz: on for 0.5 s three times, 0.5 s
// apart, then 1.5 s of pause. The score is the least of
//   - how near each of the six times is to what it should be: 1 up to 15 %, 0 beyond 35 %; a pause that the clip cuts scores as far as it is there;
//   - how much of the power the tone holds: 0 at 40 %, even noise aside, 1 from 65 % on.
//
// What is left goes through lasting.
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
	for i := 0; i+2 < len(beeps); i++ {
		three := beeps[i : i+3]
		fit := (three[0].fit + three[1].fit + three[2].fit) / 3
		pause := max(c.pauseBefore(beeps, i), c.pauseAfter(beeps, i+2))
		score := min(fit, pause,
			takes(three[0].seconds(), 0.5), takes(three[1].seconds(), 0.5), takes(three[2].seconds(), 0.5),
			takes(three[1].on-three[0].off, 0.5), takes(three[2].on-three[1].off, 0.5))
		best = max(best, lasting(score, c.onPattern(beeps)))
	}
	return best
}

// alarmTone is the frequency of the purest part of the clip that may be an alarm, 0 if there is none: the bin where most of the power
// of pure frames is.
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

// pauseAfter scores the pause after a beep. The end of the clip may cut it.
func (c *clip) pauseAfter(beeps []beep, i int) float64 {
	if i+1 < len(beeps) {
		return takes(beeps[i+1].on-beeps[i].off, alarmPause)
	}
	return cutPause(c.seconds() - beeps[i].off)
}

// pauseBefore scores the pause before a beep. The beginning of the clip may cut it.
func (c *clip) pauseBefore(beeps []beep, i int) float64 {
	if i > 0 {
		return takes(beeps[i].on-beeps[i-1].off, alarmPause)
	}
	return cutPause(beeps[i].on)
}

// cutPause scores a pause with nothing before or after it: 0.9 at most, and half as much if it is longer than any pause of an alarm.
func cutPause(seconds float64) float64 {
	if seconds > 1.35*alarmPause {
		return 0.45
	}
	return 0.9 * ramp(seconds, 0.65*alarmPause, 0.85*alarmPause)
}

// onPattern is how much of the clip the beeps reach over.
func (c *clip) onPattern(beeps []beep) float64 {
	return (beeps[len(beeps)-1].off - beeps[0].on + alarmPause) / c.seconds()
}
