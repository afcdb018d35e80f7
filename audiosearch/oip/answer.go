package oip

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-6363c74e/mortise/audiosearch/inference"
	"github.com/seed-6363c74e/mortise/internal/strictjson"
)

const (
	maxDepth    = 64      // of JSON from the server
	answerSlack = 1 << 20 // bytes of an answer beside the numbers that were asked for
	numberBytes = 64      // of a number in JSON, with space around it
)

// wanted is what the answer to an inference must be.
type wanted struct {
	id            string
	name, version string // of the model; version "": it has none
	output        string
	shape         []int64
}

// readAnswer writes the values of the wanted output to dst.
func (s *Scorer) readAnswer(a answer, w *wanted, dst []float32) *failure {
	text, tail, f := s.split(a)
	if f != nil {
		return f
	}
	root, err := strictjson.Parse(text, maxDepth)
	if err != nil {
		if kind := a.header.Get("Content-Type"); strings.HasPrefix(kind, "text/html") {
			return s.broken("it is a page for people: is there a proxy in between?")
		}
		return s.broken("%w", err)
	}
	if f := s.checkModel(root, w); f != nil {
		return f
	}
	if id, ok := textOf(root, "id"); !ok || id != w.id {
		return s.broken("it is not to this request: its id is %q in place of %q", clean(id, shownName), w.id)
	}
	outputs, _ := root.Get("outputs")
	if outputs.Kind() != strictjson.Array {
		return s.broken("it has no list of outputs")
	}
	found := false
	for _, output := range outputs.Elements() {
		name, ok := textOf(output, "name")
		if !ok {
			return s.broken("an output has no name")
		}
		raw, isBinary, f := s.cutTensor(output, &tail)
		switch {
		case f != nil:
			return f
		case name != w.output:
			continue
		case found:
			return s.broken("it has the output %s twice", clean(name, shownName))
		}
		found = true
		if f := s.readTensor(output, raw, isBinary, w, dst); f != nil {
			return f
		}
	}
	switch {
	case !found:
		return s.broken("it has no output %s", clean(w.output, shownName))
	case len(tail) > 0:
		return s.broken("it has %d bytes that belong to no output", len(tail))
	}
	return nil
}

// split cuts an answer into its JSON and the binary tensors behind it.
func (s *Scorer) split(a answer) (text, tail []byte, f *failure) {
	lengths := a.header.Values(headerLength)
	if len(lengths) == 0 {
		return a.body, nil, nil
	}
	n, err := strconv.ParseUint(lengths[0], 10, 32)
	if err != nil || len(lengths) > 1 || n > uint64(len(a.body)) {
		return nil, nil, s.broken("its %s is %q, of %d bytes", headerLength,
			clean(strings.Join(lengths, ", "), shownName), len(a.body))
	}
	return a.body[:n], a.body[n:], nil
}

// checkModel looks whether the answer is by the model that was described.
func (s *Scorer) checkModel(root strictjson.Value, w *wanted) *failure {
	name, ok := textOf(root, "model_name")
	if !ok {
		return s.broken("it does not say which model it is of")
	}
	version, ok := textOf(root, "model_version")
	if value, has := root.Get("model_version"); !ok && has && value.Kind() != strictjson.Null {
		return s.broken("its model_version is no text")
	}
	other := func(format string, args ...any) *failure {
		for i, arg := range args {
			args[i] = clean(arg.(string), shownName)
		}
		return &failure{err: fmt.Errorf("oip: the inference server answered with "+format, args...)}
	}
	switch {
	case name != w.name:
		return other("model %s, not with %s, which it described: try again", name, w.name)
	case version != "" && w.version == "":
		return other("version %s of model %s, whose description has no version: put it into the address, as in .../versions/%s",
			version, w.name, version)
	case version != "" && version != w.version:
		return other("version %s of model %s, not with %s, which it described: try again", version, w.name, w.version)
	}
	return nil
}

// textOf returns a member that is a text.
func textOf(v strictjson.Value, key string) (text string, ok bool) {
	member, _ := v.Get(key)
	return member.Text(), member.Kind() == strictjson.String
}

// cutTensor takes the binary data of an output, if it has some, from what is left of
// them.
func (s *Scorer) cutTensor(output strictjson.Value, tail *[]byte) (raw []byte, isBinary bool, f *failure) {
	parameters, _ := output.Get("parameters")
	size, ok := parameters.Get("binary_data_size")
	if !ok {
		return nil, false, nil
	}
	n, ok := size.Int64()
	if !ok || n < 0 || n > int64(len(*tail)) {
		return nil, false, s.broken("an output has a binary_data_size of %s, where %d bytes are left",
			clean(string(size.Raw()), 30), len(*tail))
	}
	if _, both := output.Get("data"); both {
		return nil, false, s.broken("an output has both data and binary_data_size")
	}
	raw, *tail = (*tail)[:n], (*tail)[n:]
	return raw, true, nil
}

// readTensor reads the wanted output.
func (s *Scorer) readTensor(output strictjson.Value, raw []byte, isBinary bool, w *wanted, dst []float32) *failure {
	if kind, _ := textOf(output, "datatype"); kind != inference.Float32 {
		return s.broken("its output is of datatype %q in place of %s", clean(kind, 30), inference.Float32)
	}
	value, _ := output.Get("shape")
	if shape, ok := shapeOf(value); !ok || !slices.Equal(shape, w.shape) {
		return s.broken("its output is of shape %s in place of %v", clean(string(value.Raw()), shownName), w.shape)
	}
	if isBinary {
		if len(raw) != 4*len(dst) {
			return s.broken("its output has %d bytes in place of %d", len(raw), 4*len(dst))
		}
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
		return nil
	}
	data, _ := output.Get("data")
	if data.Kind() != strictjson.Array {
		return s.broken("its output has no data")
	}
	shape := []int64{int64(len(dst))} // flat
	for _, first := range data.Elements() {
		if first.Kind() == strictjson.Array {
			shape = w.shape
		}
		break
	}
	_, f := s.readNumbers(data, shape, dst)
	return f
}

// readNumbers reads nested arrays of a shape, and returns what is left of dst.
func (s *Scorer) readNumbers(data strictjson.Value, shape []int64, dst []float32) ([]float32, *failure) {
	if data.Kind() != strictjson.Array {
		return nil, s.broken("its output's data are not nested as its shape says")
	}
	count := int64(0)
	for _, element := range data.Elements() {
		if count++; count > shape[0] || len(dst) == 0 {
			return nil, s.broken("its output has more data than its shape says")
		}
		if len(shape) > 1 {
			var f *failure
			if dst, f = s.readNumbers(element, shape[1:], dst); f != nil {
				return nil, f
			}
			continue
		}
		switch element.Kind() {
		case strictjson.Number:
		case strictjson.Null: // what writers make of NaN
			return nil, &failure{permanent: true, err: fmt.Errorf("oip: %w: null in place of a number", inference.ErrAnswer)}
		default:
			return nil, s.broken("its output's data have something that is no number")
		}
		x, err := strconv.ParseFloat(string(element.Raw()), 32)
		if err != nil {
			return nil, s.broken("its output has the number %s, which is too large", clean(string(element.Raw()), 30))
		}
		dst[0] = float32(x)
		dst = dst[1:]
	}
	if count < shape[0] {
		return nil, s.broken("its output has less data than its shape says")
	}
	return dst, nil
}

// shapeOf reads a list of whole numbers.
func shapeOf(v strictjson.Value) (shape []int64, ok bool) {
	const most = 16
	if v.Kind() != strictjson.Array {
		return nil, false
	}
	for i, element := range v.Elements() {
		d, ok := element.Int64()
		if !ok || i == most {
			return nil, false
		}
		shape = append(shape, d)
	}
	return shape, true
}
