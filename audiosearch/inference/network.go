package inference

import (
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/astfeatures"
	"github.com/seed-6363c74e/mortise/audiosearch/audioset"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// Network is how a network is used. [Recognize] makes one; the zero value is of no use.
type Network struct {
	family        string
	described     *Description // nil: it was recognized by itself
	input, output Tensor
	rate          int
	window        int // samples
	hop           time.Duration
	features      bool // the input is of astfeatures, else a waveform
	logits        bool
	classes       []sound.Class
}

// Input returns the tensor that a Runner fills in. Its shape is as the network says it.
func (n *Network) Input() Tensor { return n.input }

// Output returns the tensor that a Runner reads.
func (n *Network) Output() Tensor { return n.output }

// Fixed returns how many clips every run has, or 0 if any number will do.
func (n *Network) Fixed() int {
	if fixed := n.rows(n.input.Shape, n.inputRank()); fixed > 0 {
		return fixed
	}
	return max(n.rows(n.output.Shape, 1), 0)
}

// rows returns how many clips a shape holds, where one clip has so many dimensions: -1
// for any number.
func (n *Network) rows(shape []int64, rank int) int {
	if len(shape) <= rank {
		return 1
	}
	return int(shape[0])
}

// inputRank is how many dimensions the input of one clip has.
func (n *Network) inputRank() int {
	if n.features {
		return 2
	}
	return 1
}

// InputShape returns the shape of the input of a run with so many clips.
func (n *Network) InputShape(clips int) []int64 {
	one := []int64{int64(n.window)}
	if n.features {
		one = []int64{astfeatures.Frames, astfeatures.Bins}
	}
	if len(n.input.Shape) == len(one) {
		return one
	}
	return append([]int64{int64(clips)}, one...)
}

// OutputShape returns the shape of the output of a run with so many clips.
func (n *Network) OutputShape(clips int) []int64 {
	if len(n.output.Shape) == 1 {
		return []int64{int64(len(n.classes))}
	}
	return []int64{int64(clips), int64(len(n.classes))}
}

// InputSize returns how many values the input of one clip has.
func (n *Network) InputSize() int {
	if n.features {
		return astfeatures.Frames * astfeatures.Bins
	}
	return n.window
}

// OutputSize returns how many values the output of one clip has: one for each class.
func (n *Network) OutputSize() int { return len(n.classes) }

// yamnetClasses are the outputs of YAMNet: AudioSet's classes in their order, but for
// those that say who speaks or sings (https://github.com/tensorflow/models,
// research/audioset/yamnet).
var yamnetClasses = func() []sound.Class {
	without := map[sound.Class]bool{
		"Male speech, man speaking": true, "Female speech, woman speaking": true, "Male singing": true,
		"Female singing": true, "Battle cry": true, "Funny music": true,
	}
	var classes []sound.Class
	for _, c := range audioset.Classes() {
		if !without[c] {
			classes = append(classes, c)
		}
	}
	return classes
}()
