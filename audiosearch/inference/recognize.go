package inference

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/astfeatures"
	"github.com/seed-6363c74e/mortise/audiosearch/audioset"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// ErrUnrecognized is in the error of a network that is neither known nor described so
// that it can be used.
var ErrUnrecognized = errors.New("the model cannot be used as it is")

// The bounds of a network. The service has its own for batches.
const (
	maxFixed  = 1024 // clips of each run
	maxWindow = 64 << 20
	longest   = 10 * time.Minute // the service takes no longer window
)

// What the known networks have.
const (
	astInput, astOutput = "input_values", "logits"
	yamnetSamples       = 15600
	yamnetRate          = 16000
)

// Recognize tells how a network is used: as its description says, as the one in its own
// metadata says, or, with a nil description, as its inputs and outputs say. Errors are
// [ErrUnrecognized]. They say what was found, what is wanted and what to do.
func Recognize(s Signature, described *Description) (*Network, error) {
	if own, ok := s.Metadata[MetadataKey]; ok && described == nil {
		var err error
		if described, err = ParseDescription([]byte(own)); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnrecognized, err)
		}
	}
	var n *Network
	var err error
	if described != nil {
		n, err = asDescribed(&s, described)
	} else {
		n, err = known(&s)
	}
	if err == nil {
		err = n.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnrecognized, err)
	}
	return n, nil
}

// known recognizes a network without a description.
func known(s *Signature) (*Network, error) {
	if len(s.Inputs) == 1 {
		for _, output := range s.Outputs {
			switch in := s.Inputs[0]; {
			case isAST(in, output):
				return &Network{
					family: "ast", input: in, output: output, features: true, rate: astfeatures.SampleRate,
					window: astfeatures.WindowSamples, logits: true, classes: audioset.Classes(),
				}, nil
			case isYAMNet(in, output):
				return &Network{
					family: "yamnet", input: in, output: output, rate: yamnetRate,
					window: yamnetSamples, classes: yamnetClasses,
				}, nil
			}
		}
	}
	return nil, fmt.Errorf("it takes and gives %s; known are %s FP32 [batch,%d,%d] to %s FP32 [batch,%d] "+
		"(the audio spectrogram transformer) and FP32 [%d] to FP32 [1,%d] (YAMNet): export it so, or describe "+
		"how it is used, in a file beside it with .json added to its name, or in Options.Description",
		s, astInput, astfeatures.Frames, astfeatures.Bins, astOutput, audioset.NumClasses, yamnetSamples, len(yamnetClasses))
}

// isAST goes by the names too: without them nobody knows whether an output is logits.
func isAST(in, out Tensor) bool {
	return in.Name == astInput && out.Name == astOutput && isFeatures(in.Shape) && isRows(out.Shape, audioset.NumClasses) &&
		len(out.Shape) == 2
}

// isFeatures reports whether a shape is that of a batch of spectrograms.
func isFeatures(shape []int64) bool {
	return len(shape) == 3 && fits(shape[0], 0) && fits(shape[1], astfeatures.Frames) && fits(shape[2], astfeatures.Bins)
}

func isYAMNet(in, out Tensor) bool {
	n := len(in.Shape)
	return (n == 1 || n == 2) && fits(in.Shape[0], 0) && in.Shape[n-1] == yamnetSamples &&
		len(out.Shape) == 2 && isRows(out.Shape, len(yamnetClasses)) && out.Shape[1] > 0 &&
		(n == 2 || out.Shape[0] == 1 || out.Shape[0] < 0)
}

// isRows reports whether a shape is that of values for so many classes, of one clip or of
// some.
func isRows(shape []int64, classes int) bool {
	n := len(shape)
	return (n == 1 || n == 2) && fits(shape[0], 0) && fits(shape[n-1], classes)
}

// fits reports whether a dimension can have a size; 0 stands for any.
func fits(dimension int64, size int) bool {
	return dimension < 0 || dimension > 0 && (size == 0 || dimension == int64(size))
}

// asDescribed recognizes a network by its description.
func asDescribed(s *Signature, d *Description) (*Network, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	if len(s.Inputs) != 1 {
		return nil, fmt.Errorf("it takes %s; a network with one input is wanted", tensorsText(s.Inputs))
	}
	in, err := choose("input", s.Inputs, d.Input)
	if err != nil {
		return nil, err
	}
	out, err := choose("output", s.Outputs, d.Output)
	if err != nil {
		return nil, err
	}
	own := *d // the caller's may change
	own.Classes = slices.Clone(d.Classes)
	d = &own
	n := &Network{
		family: d.Family, described: d, input: in, output: out, rate: d.SampleRate, window: d.Samples, hop: d.Hop,
		features: d.Features == featuresAST, logits: d.Gives == givesLogits, classes: d.Classes,
	}
	if n.features {
		n.rate, n.window = astfeatures.SampleRate, astfeatures.WindowSamples
		if !isFeatures(in.Shape) {
			return nil, fmt.Errorf("its input is %s; the features that its description names are [batch,%d,%d]",
				in, astfeatures.Frames, astfeatures.Bins)
		}
	} else if err := n.takeWaveform(); err != nil {
		return nil, err
	}
	if !isRows(out.Shape, len(d.Classes)) {
		return nil, fmt.Errorf("its output is %s; for the %d classes of its description [batch,%d] is wanted: "+
			"list every class of the output, in its order", out, len(d.Classes), len(d.Classes))
	}
	return n, nil
}

// takeWaveform looks whether the input is a waveform, and how long one is.
func (n *Network) takeWaveform() error {
	shape := n.input.Shape
	dims := len(shape)
	if dims != 1 && dims != 2 || dims == 2 && !fits(shape[0], 0) {
		return fmt.Errorf("its input is %s; a waveform is [samples] or [batch,samples]", n.input)
	}
	length := shape[dims-1]
	switch {
	case n.window == 0 && length <= 0:
		return fmt.Errorf("its input is %s, of any length: say in the description how many samples a window has", n.input)
	case n.window == 0 && length <= maxWindow:
		n.window = int(length)
	case n.window == 0 || !fits(length, n.window):
		return fmt.Errorf("its input is %s; the description says %d samples: correct that, or leave it out "+
			"where the shape says it", n.input, n.window)
	}
	return nil
}

// choose returns the tensor of a name, or the only one.
func choose(what string, tensors []Tensor, name string) (Tensor, error) {
	if name == "" && len(tensors) == 1 {
		return tensors[0], nil
	}
	for _, t := range tensors {
		if t.Name == name && name != "" {
			return t, nil
		}
	}
	if name == "" {
		return Tensor{}, fmt.Errorf("its %ss are %s: name one as %q in the description", what, tensorsText(tensors), what)
	}
	return Tensor{}, fmt.Errorf("its %ss are %s; the description names %s, which is not among them",
		what, tensorsText(tensors), shorten(name))
}

// check returns what is wrong with a network that fits otherwise.
func (n *Network) check() error {
	for _, t := range []Tensor{n.input, n.output} {
		if t.Type != Float32 {
			return fmt.Errorf("%s is not of type %s: export the model with 32-bit floats for inputs and outputs; "+
				"its weights may have any type", t, Float32)
		}
	}
	in, out := n.rows(n.input.Shape, n.inputRank()), n.rows(n.output.Shape, 1)
	switch {
	case in > 0 && out > 0 && in != out:
		return fmt.Errorf("it takes %s and gives %s: so many clips and so many answers do not go together", n.input, n.output)
	case n.Fixed() > maxFixed:
		return fmt.Errorf("it takes %s, that is %d clips at a time; at most %d will do", n.input, n.Fixed(), maxFixed)
	case n.window < 2 || n.window > maxWindow:
		return fmt.Errorf("its window has %d samples; 2 to %d will do", n.window, maxWindow)
	case n.Window() > longest:
		return fmt.Errorf("its window has %d samples at %d Hz, which are %v; at most %v will do: are both right?",
			n.window, n.rate, n.Window(), longest)
	case n.InputSize()*max(n.Fixed(), 1) > maxWindow:
		return fmt.Errorf("it takes %s, which is too large: at most %d values will do", n.input, maxWindow)
	}
	if n.hop == 0 {
		n.hop = n.Window() / 2
	}
	if n.hop > n.Window() {
		return fmt.Errorf("its hop of %v is longer than its window of %v, so that sound would be passed over", n.hop, n.Window())
	}
	return nil
}

// Window returns how much sound one clip has.
func (n *Network) Window() time.Duration {
	if n.rate == 0 { // of the zero value
		return 0
	}
	return time.Duration(n.window) * time.Second / time.Duration(n.rate)
}

// Classes returns the sound classes, in the order of the output.
func (n *Network) Classes() []sound.Class {
	return append([]sound.Class(nil), n.classes...)
}
