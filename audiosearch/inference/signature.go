package inference

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Float32 is the one type of numbers that networks are used with here, by its name in the
// Open Inference Protocol. Weights may have any.
const Float32 = "FP32"

// Tensor describes an input or output of a network.
type Tensor struct {
	Name  string
	Type  string  // by its name in the Open Inference Protocol: FP32, FP16, INT64, ...
	Shape []int64 // -1 where any length will do
}

// String is such as "input_values FP32 [any,1024,128]".
func (t Tensor) String() string {
	return shorten(t.Name) + " " + shorten(t.Type) + " " + shapeText(t.Shape)
}

// Signature is what a network says of itself.
type Signature struct {
	Inputs, Outputs []Tensor

	// Metadata is the network's own, as in metadata_props of an ONNX file. That of the key
	// [MetadataKey] is a [Description], as JSON.
	Metadata map[string]string
}

// MetadataKey is the key of a network's metadata that has its [Description].
const MetadataKey = "mortise"

// String lists the inputs and outputs, for messages.
func (s *Signature) String() string {
	return tensorsText(s.Inputs) + " to " + tensorsText(s.Outputs)
}

// What a message shows of what a network says: names come from outside.
const (
	shownTensors = 4
	shownDims    = 8
	shownName    = 60 // bytes
	shownProblem = 400
)

func tensorsText(tensors []Tensor) string {
	if len(tensors) == 0 {
		return "nothing"
	}
	var texts []string
	for i, t := range tensors {
		if i == shownTensors {
			texts = append(texts, fmt.Sprintf("and %d more", len(tensors)-i))
			break
		}
		texts = append(texts, t.String())
	}
	return strings.Join(texts, ", ")
}

func shapeText(shape []int64) string {
	var dims []string
	for i, d := range shape {
		if i == shownDims {
			dims = append(dims, "...")
			break
		}
		if d < 0 {
			dims = append(dims, "any")
		} else {
			dims = append(dims, strconv.FormatInt(d, 10))
		}
	}
	return "[" + strings.Join(dims, ",") + "]"
}

// shorten makes a name from outside fit for a message.
func shorten(name string) string {
	name = cut(name, shownName)
	if slices.ContainsFunc([]rune(name), func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}

// cut makes a text of at most so many bytes, and a little, of one from outside.
func cut(text string, most int) string {
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return strings.ToValidUTF8(text, "?")
}
