package audiosearchtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/audioset"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// The times of the model that [Sounds] has.
const (
	Window = 10 * time.Second
	Hop    = 2 * time.Second
)

// Tape is a video that exists only in a test: how long it is, and what is heard in it.
type Tape struct {
	// Duration is that of the sound; 0: as long as the scores in Heard say, and 1 s at
	// least.
	Duration time.Duration
	// Heard are the scores of its segments, from the first on: segment i begins at i*Hop.
	// Others are 0.
	Heard     map[sound.Class][]float64
	Keyframes []time.Duration // nil: it has no video
	// Err, if it is not nil, says why it cannot be decoded. Wrapped by [sound.BadMedia],
	// it is the file's own fault.
	Err error
}

// length returns how long the sound is.
func (t *Tape) length() time.Duration {
	if t.Duration > 0 {
		return t.Duration
	}
	longest := time.Second
	for _, scores := range t.Heard {
		if n := len(scores); n > 0 {
			longest = max(longest, time.Duration(n-1)*Hop+Window)
		}
	}
	return longest
}

// Sounds are the tapes of a test. They are a [sound.Files], a [sound.Media] and a
// [sound.Scorer] at a time: no file is decoded, and no model is needed. It is safe for
// concurrent use. Its zero value has no tapes, and knows all classes.
type Sounds struct {
	mu      sync.Mutex
	classes []sound.Class  // nil: all
	tapes   []Tape         // what was ever recorded
	paths   map[string]int // the tape that a path leads to
}

// Record puts a tape where a path leads. One that was there before is replaced, as when a
// file changes. There can be 16,000 of them, of 36 hours each.
func (s *Sounds) Record(path string, t Tape) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paths == nil {
		s.paths = make(map[string]int)
	}
	t.Keyframes, t.Heard = slices.Clone(t.Keyframes), maps.Clone(t.Heard)
	s.paths[path] = len(s.tapes)
	s.tapes = append(s.tapes, t)
}

// Erase removes the tape where a path leads, as when a file is deleted.
func (s *Sounds) Erase(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.paths, path)
}

// errNoTape is the answer for a path that leads nowhere.
var errNoTape = sound.BadMedia(errors.New("there is no such tape: record it with Sounds.Record, or correct the path in the catalog"))

// Local implements [sound.Files]. The file that it makes says which tape it is.
func (s *Sounds) Local(ctx context.Context, _, path string) (string, func(), error) {
	nothing := func() {}
	if err := ctx.Err(); err != nil {
		return "", nothing, err
	}
	s.mu.Lock()
	n, ok := s.paths[path]
	s.mu.Unlock()
	if !ok {
		return "", nothing, errNoTape
	}
	f, err := os.CreateTemp("", "audiosearchtest-*.tape")
	if err != nil {
		return "", nothing, err
	}
	release := func() { _ = os.Remove(f.Name()) }
	_, err = fmt.Fprintf(f, "tape %d\n", n)
	if err = errors.Join(err, f.Close()); err != nil {
		release()
		return "", nothing, err
	}
	return f.Name(), release, nil
}

// tape returns the tape that a file of Local is, and its number.
func (s *Sounds) tape(ctx context.Context, file string) (t Tape, n int, err error) {
	if err := ctx.Err(); err != nil {
		return Tape{}, 0, err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return Tape{}, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := fmt.Sscanf(string(content), "tape %d\n", &n); err != nil || n >= len(s.tapes) {
		return Tape{}, 0, errNoTape
	}
	return s.tapes[n], n, s.tapes[n].Err
}

// ID implements [sound.Media].
func (s *Sounds) ID() string { return "tapes/1" }

// Probe implements [sound.Media].
func (s *Sounds) Probe(ctx context.Context, file string) (sound.Info, error) {
	t, _, err := s.tape(ctx, file)
	if err != nil {
		return sound.Info{}, err
	}
	return sound.Info{Duration: t.length(), HasVideo: t.Keyframes != nil, Keyframes: slices.Clone(t.Keyframes)}, nil
}

// tapeRate is the sample rate of the model: no more than it takes to tell segments apart,
// to the tenth of a second.
const tapeRate = 10

// sample is what is heard in a segment of a tape: which one of which it is, in bits that
// are a number from 0 to below 1.
func sample(tape, segment int) float32 {
	return math.Float32frombits(uint32(tape<<16 | segment&0xffff))
}

// PCM implements [sound.Media].
func (s *Sounds) PCM(ctx context.Context, file string, rate int) iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		t, n, err := s.tape(ctx, file)
		if err != nil {
			yield(nil, err)
			return
		}
		left := max(1, int(t.length().Seconds()*float64(rate)))
		block := make([]float32, int(Hop.Seconds())*rate)
		for segment := 0; left > 0; segment++ {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			for i := range block {
				block[i] = sample(n, segment)
			}
			if !yield(block[:min(len(block), left)], nil) {
				return
			}
			left -= len(block)
		}
	}
}

// Model implements [sound.Scorer].
func (s *Sounds) Model(ctx context.Context) (sound.Model, error) {
	if err := ctx.Err(); err != nil {
		return sound.Model{}, err
	}
	return sound.Model{ID: "audiosearchtest/1", Family: "audiosearchtest", SampleRate: tapeRate, Window: Window, Hop: Hop, Classes: s.known(), Batch: 64}, nil
}

func (s *Sounds) known() []sound.Class {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.classes == nil {
		s.classes = audioset.Classes()
	}
	return slices.Clone(s.classes)
}

// Score implements [sound.Scorer]: it returns what the tape says that the clip is from.
// Other sounds are nothing to it.
func (s *Sounds) Score(ctx context.Context, clips [][]float32) ([]sound.Scores, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	classes := s.known()
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]sound.Scores, len(clips))
	for i, clip := range clips {
		all[i] = make(sound.Scores, len(classes))
		bits := math.Float32bits(clip[0])
		tape, segment := int(bits>>16), int(bits&0xffff)
		if tape >= len(s.tapes) {
			continue
		}
		for c, class := range classes {
			if heard := s.tapes[tape].Heard[class]; segment < len(heard) {
				all[i][c] = float32(min(1, max(0, heard[segment])))
			}
		}
	}
	return all, nil
}
