package signal

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/fft"
)

// The classes, by their names in AudioSet.
const (
	classDTMF       sound.Class = "Telephone dialing, DTMF"
	classDialTone   sound.Class = "Dial tone"
	classBusy       sound.Class = "Busy signal"
	classSmoke      sound.Class = "Smoke detector, smoke alarm"
	classSilence    sound.Class = "Silence"
	classSine       sound.Class = "Sine wave"
	classChirp      sound.Class = "Chirp tone"
	classPulse      sound.Class = "Pulse"
	classHum        sound.Class = "Mains hum"
	classWhiteNoise sound.Class = "White noise"
	classPinkNoise  sound.Class = "Pink noise"
)

// detectors has what gives the score of each class, in the order of the classes.
var detectors = [...]struct {
	class sound.Class
	score func(*clip) float64
}{
	{classDTMF, (*clip).dtmf},
	{classDialTone, (*clip).dialTone},
	{classBusy, (*clip).busySignal},
	{classSmoke, (*clip).smokeAlarm},
	{classSilence, (*clip).silence},
	{classSine, (*clip).sineWave},
	{classChirp, (*clip).chirp},
	{classPulse, (*clip).pulse},
	{classHum, (*clip).mainsHum},
	{classWhiteNoise, (*clip).whiteNoise},
	{classPinkNoise, (*clip).pinkNoise},
}

// id names what the scores depend on. Whoever changes a score raises the number: kept
// scores are made again.
const (
	id     = "signal/2"
	family = "signal"
)

const (
	window     = 10 * time.Second
	hop        = 2 * time.Second
	windowSize = int(window/time.Second) * sampleRate
)

// Options are the settings of a scorer. Nil and the zero value mean the defaults.
type Options struct {
	Parallel int // clips of one call that are scored at the same time; 0: 1
}

// Scorer scores clips by signal processing. It implements [sound.Scorer] and is safe
// for concurrent use.
type Scorer struct {
	parallel    int
	frames      *hann
	tones, hums *hann // of slower signals: for DTMF, and for mains hum
	wide, steep halfband
	clips       sync.Pool // of *clip
}

var _ sound.Scorer = (*Scorer)(nil)

// New makes a scorer. It fails if an option is out of range.
func New(opts *Options) (*Scorer, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Parallel < 0 {
		return nil, fmt.Errorf("signal: Options.Parallel is %d; set a positive number, or 0 for 1", o.Parallel)
	}
	s := &Scorer{
		parallel: max(o.Parallel, 1),
		frames:   newHann(frameSize),
		tones:    newHann(toneSize),
		hums:     newHann(humSize),
		wide:     newHalfband(wideTaps),
		steep:    newHalfband(steepTaps),
	}
	s.clips.New = func() any { return s.newClip() }
	return s, nil
}

func (s *Scorer) newClip() *clip {
	return &clip{
		scorer:   s,
		work:     make([]fft.Complex[float32], frameSize/2),
		spectrum: make([]float32, frameBins),
	}
}

// Model describes the scorer. It never changes, and never fails.
func (s *Scorer) Model(context.Context) (sound.Model, error) {
	m := sound.Model{ID: id, Family: family, SampleRate: sampleRate, Window: window, Hop: hop}
	for _, d := range detectors {
		m.Classes = append(m.Classes, d.class)
	}
	return m, nil
}

// Score scores clips. The scores of a clip depend on nothing but its samples: neither
// on the other clips nor on who else calls. Samples that are no numbers count as 0. A
// clip that is longer than the window is an error that is [sound.Permanent]; an empty
// one scores 0.
func (s *Scorer) Score(ctx context.Context, clips [][]float32) ([]sound.Scores, error) {
	for i, samples := range clips {
		if len(samples) > windowSize {
			return nil, sound.Permanent(
				fmt.Errorf("signal: clip %d has %d samples; cut clips to the model's window of %d", i, len(samples), windowSize))
		}
	}
	scores := make([]sound.Scores, len(clips))
	work := func(first int) {
		c := s.clips.Get().(*clip)
		defer s.clips.Put(c)
		for i := first; i < len(clips) && ctx.Err() == nil; i += s.parallel {
			scores[i] = c.score(clips[i])
		}
	}
	var others sync.WaitGroup
	for first := 1; first < min(s.parallel, len(clips)); first++ {
		others.Go(func() { work(first) })
	}
	work(0)
	others.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return scores, nil
}

// score scores one clip.
func (c *clip) score(samples []float32) sound.Scores {
	c.load(samples)
	scores := make(sound.Scores, len(detectors))
	for i, d := range detectors {
		scores[i] = float32(clamp(d.score(c)))
	}
	return scores
}
