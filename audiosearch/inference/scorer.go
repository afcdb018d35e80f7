package inference

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/astfeatures"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// Runner runs a network. It is safe for concurrent use.
type Runner interface {
	// Run gives the network some clips and writes what it answers to output. input has
	// [Network.InputSize] values for each clip, output [Network.OutputSize]; their shapes
	// are [Network.InputShape] and [Network.OutputShape]. Both belong to the caller again
	// after the call. An answer of another shape is an error. So is a context that ends
	// before a run is begun; what runs may be let run to its end.
	Run(ctx context.Context, clips int, input, output []float32) error
}

// Options are the settings of a Scorer. Nil and the zero value mean the defaults.
type Options struct {
	// Hop is the time from the start of a segment to that of the next one, at most the
	// window. 0: as the description of the network says, or half a window, so that all
	// sound is in two segments. Twice the hop is half the work.
	Hop time.Duration

	// Batch is how many clips the service is asked to bring at a time, and one run has at
	// most: 1 to 1024; 0: 8. A network that takes a fixed number is run with that. There
	// are fewer where so many would have more than 64 Mi values.
	Batch int
}

// version is that of the code that prepares what networks hear and reads what they say.
// Whoever changes a score raises it: kept scores are made again.
const version = 1

const (
	usualBatch = 8
	maxSample  = 1000 // louder samples count as this: squares of more would not be finite
	maxWeights = 128  // bytes of their name, so that the ID has at most 255
)

// ErrAnswer is in the error of a network that answers what is no score.
var ErrAnswer = errors.New("the model gave what is no score")

// Scorer scores clips with a network. It implements [sound.Scorer] and is safe for
// concurrent use.
type Scorer struct {
	network *Network
	runner  Runner
	model   sound.Model
	batch   int
	buffers sync.Pool // of *buffer
}

var _ sound.Scorer = (*Scorer)(nil)

// buffer is what one run reads and writes.
type buffer struct{ input, output []float32 }

// New makes a scorer of a network. weights names what the network computes with, such as
// "sha256:" and the digest of its file: it is a part of the [sound.Model]'s ID, as are
// the description and the hop, so that scores are never taken for those of another model.
// It is a name of at most 128 bytes, and cannot be empty.
func New(n *Network, weights string, runner Runner, opts *Options) (*Scorer, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	switch {
	case n == nil || len(n.classes) == 0:
		return nil, errors.New("inference: a scorer needs a Network, which Recognize makes")
	case runner == nil:
		return nil, errors.New("inference: a scorer needs a Runner")
	case len(weights) > maxWeights || !sound.Class(weights).Valid():
		return nil, fmt.Errorf("inference: the weights need a name of 1 to %d bytes, such as the digest of their file: "+
			"scores of other weights must not be taken for theirs", maxWeights)
	}
	hop := o.Hop
	if hop == 0 {
		hop = n.hop
	}
	switch {
	case hop < time.Millisecond || hop > n.Window():
		return nil, fmt.Errorf("inference: a hop of %v: it must be 1ms at least, and at most the window of %v", hop, n.Window())
	case o.Batch < 0 || o.Batch > maxFixed:
		return nil, fmt.Errorf("inference: Options.Batch is %d: it must be 1 to %d, or 0 for %d", o.Batch, maxFixed, usualBatch)
	}
	batch := o.Batch
	if batch == 0 {
		batch = usualBatch
	}
	batch = min(batch, max(maxWindow/n.InputSize(), 1))
	s := &Scorer{network: n, runner: runner, batch: batch}
	if fixed := n.Fixed(); fixed > 0 {
		s.batch = fixed
		batch = max(batch/fixed, 1) * fixed // or the last run of each call would be filled up
	}
	s.model = sound.Model{
		ID: n.id(weights, hop), Family: n.family, SampleRate: n.rate, Window: n.Window(), Hop: hop,
		Classes: n.Classes(), Batch: batch,
	}
	s.buffers.New = func() any {
		return &buffer{make([]float32, s.batch*n.InputSize()), make([]float32, s.batch*n.OutputSize())}
	}
	return s, nil
}

// id names everything that scores depend on.
func (n *Network) id(weights string, hop time.Duration) string {
	id := fmt.Sprintf("%s/%d/%s", n.family, version, weights)
	if n.described != nil {
		d := *n.described
		d.Hop = 0 // below
		text, _ := json.Marshal(d)
		id += fmt.Sprintf("/described:%x", sha256.Sum256(text))[:len("/described:")+16]
	}
	if hop != n.Window()/2 {
		id += "/hop:" + hop.String()
	}
	return id
}

// Model describes the model. It never changes, and never fails.
func (s *Scorer) Model(context.Context) (sound.Model, error) {
	m := s.model
	m.Classes = s.network.Classes()
	return m, nil
}

// Score scores clips, a batch at a time. A clip that is longer than the window is an
// error that is [sound.Permanent]. A shorter one is padded as the network was trained:
// the features of the transformer with empty rows, a waveform with silence. Samples that
// are no numbers count as 0, and those beyond 1000 as that. An answer that is no score is
// [ErrAnswer], and permanent too. Other errors are those of the Runner.
func (s *Scorer) Score(ctx context.Context, clips [][]float32) ([]sound.Scores, error) {
	for i, clip := range clips {
		if len(clip) > s.network.window {
			return nil, sound.Permanent(fmt.Errorf("inference: clip %d has %d samples; cut clips to the window of %d",
				i, len(clip), s.network.window))
		}
	}
	b := s.buffers.Get().(*buffer)
	defer s.buffers.Put(b)
	width := s.network.OutputSize()
	values := make([]float32, len(clips)*width)
	scores := make([]sound.Scores, len(clips))
	for first := 0; first < len(clips); first += s.batch {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		part := clips[first:min(first+s.batch, len(clips))]
		if err := s.run(ctx, b, part); err != nil {
			return nil, err
		}
		for i := range part {
			row := values[(first+i)*width:][:width:width]
			if err := s.network.read(row, b.output[i*width:][:width]); err != nil {
				return nil, sound.Permanent(err)
			}
			scores[first+i] = row
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return scores, nil
}

// run has one batch run. A fixed one is filled up with silence.
func (s *Scorer) run(ctx context.Context, b *buffer, clips [][]float32) error {
	size, n := s.network.InputSize(), len(clips)
	for i, clip := range clips {
		s.network.prepare(b.input[i*size:][:size], clip)
	}
	if fixed := s.network.Fixed(); fixed > 0 {
		for i := n; i < fixed; i++ {
			clear(b.input[i*size:][:size])
		}
		n = fixed
	}
	return s.runner.Run(ctx, n, b.input[:n*size], b.output[:n*s.network.OutputSize()])
}

// prepare writes what the network hears of a clip.
func (n *Network) prepare(dst, clip []float32) {
	if n.features {
		if !tame(clip) {
			limited := make([]float32, len(clip))
			limit(limited, clip)
			clip = limited
		}
		astfeatures.Extract(dst, clip)
		return
	}
	limit(dst, clip)
	clear(dst[len(clip):])
}

// tame reports whether all samples are numbers that can be reckoned with.
func tame(samples []float32) bool {
	for _, x := range samples {
		if !(x >= -maxSample && x <= maxSample) {
			return false
		}
	}
	return true
}

func limit(dst, samples []float32) {
	for i, x := range samples {
		switch {
		case x != x:
			x = 0
		case x > maxSample:
			x = maxSample
		case x < -maxSample:
			x = -maxSample
		}
		dst[i] = x
	}
}

// overshoot is by how much a score may be outside [0,1], which is what rounding does.
const overshoot = 1e-3

// read makes scores of what the network answered.
func (n *Network) read(scores, answer []float32) error {
	for i, x := range answer {
		switch {
		case x-x != 0:
			return fmt.Errorf("inference: %w: %v for %q: the model, or what runs it, is broken", ErrAnswer, x, n.classes[i])
		case n.logits:
			scores[i] = float32(1 / (1 + math.Exp(-float64(x))))
		case x < -overshoot || x > 1+overshoot:
			return fmt.Errorf(`inference: %w: %v for %q; if these are logits, describe the model and say "gives": "logits"`,
				ErrAnswer, x, n.classes[i])
		default:
			scores[i] = min(max(x, 0), 1)
		}
	}
	return nil
}
