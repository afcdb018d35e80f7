//go:build cgo

package onnx

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
)

// This file writes small ONNX files, by onnx.proto.

// message is one of Protocol Buffers.
type message []byte

func (m message) number(field int, v int64) message {
	return binary.AppendUvarint(binary.AppendUvarint(m, uint64(field)<<3), uint64(v))
}

func (m message) bytes(field int, b []byte) message {
	m = binary.AppendUvarint(binary.AppendUvarint(m, uint64(field)<<3|2), uint64(len(b)))
	return append(m, b...)
}

func (m message) text(field int, s string) message { return m.bytes(field, []byte(s)) }

// The types of numbers.
const (
	float32s = 1
	int8s    = 3
	int64s   = 7
	bools    = 9
	float16s = 10
)

// anyLength is a dimension of any length.
const anyLength = -1

// tensorInfo is a ValueInfoProto.
func tensorInfo(name string, kind int64, shape ...int64) message {
	var dims message
	for _, d := range shape {
		if d == anyLength {
			dims = dims.bytes(1, message(nil).text(2, "batch"))
		} else {
			dims = dims.bytes(1, message(nil).number(1, d))
		}
	}
	tensor := message(nil).number(1, kind).bytes(2, dims)
	return message(nil).text(1, name).bytes(2, message(nil).bytes(1, tensor))
}

// sequenceInfo is a ValueInfoProto of a sequence of tensors.
func sequenceInfo(name string) message {
	tensor := message(nil).bytes(1, message(nil).number(1, float32s))
	sequence := message(nil).bytes(1, tensor)
	return message(nil).text(1, name).bytes(2, message(nil).bytes(4, sequence))
}

// tensor is a TensorProto.
func tensor(name string, kind int64, raw []byte, shape ...int64) message {
	var m message
	for _, d := range shape {
		m = m.number(1, d)
	}
	return m.number(2, kind).text(8, name).bytes(9, raw)
}

// floats is a TensorProto of 32-bit floats.
func floats(name string, values []float32, shape ...int64) message {
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return tensor(name, float32s, raw, shape...)
}

// halves is a TensorProto of 16-bit floats. The values must be in [2^-14,2), or negative so.
func halves(name string, values []float32, shape ...int64) message {
	var raw []byte
	for _, v := range values {
		b := math.Float32bits(v)
		exponent := int32(b>>23&0xff) - 127 + 15
		if exponent <= 0 {
			exponent, b = 0, b>>31<<31
		}
		raw = binary.LittleEndian.AppendUint16(raw, uint16(b>>31<<15|uint32(exponent)<<10|b>>13&0x3ff))
	}
	return tensor(name, float16s, raw, shape...)
}

// longs is a TensorProto of 64-bit integers.
func longs(name string, values []int64, shape ...int64) message {
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
	}
	return tensor(name, int64s, raw, shape...)
}

// node is a NodeProto. Attributes are AttributeProtos.
func node(op string, inputs, outputs []string, attributes ...message) message {
	var m message
	for _, in := range inputs {
		m = m.text(1, in)
	}
	for _, out := range outputs {
		m = m.text(2, out)
	}
	m = m.text(3, op+"_"+outputs[0]).text(4, op)
	for _, a := range attributes {
		m = m.bytes(5, a)
	}
	return m
}

// integer is an AttributeProto.
func integer(name string, v int64) message {
	return message(nil).text(1, name).number(3, v).number(20, 2)
}

// integers is an AttributeProto.
func integers(name string, values ...int64) message {
	m := message(nil).text(1, name)
	for _, v := range values {
		m = m.number(8, v)
	}
	return m.number(20, 7)
}

// graphAttribute is an AttributeProto.
func graphAttribute(name string, g message) message {
	return message(nil).text(1, name).bytes(6, g).number(20, 5)
}

// graph is a GraphProto.
type graph struct {
	nodes, weights, inputs, outputs []message
}

func (g graph) encode() message {
	var m message
	for _, n := range g.nodes {
		m = m.bytes(1, n)
	}
	m = m.text(2, "test")
	for _, w := range g.weights {
		m = m.bytes(5, w)
	}
	for _, in := range g.inputs {
		m = m.bytes(11, in)
	}
	for _, out := range g.outputs {
		m = m.bytes(12, out)
	}
	return m
}

// model is a ModelProto, with metadata as keys and values in turn.
func (g graph) model(metadata ...string) []byte {
	m := message(nil).number(1, 8).bytes(7, g.encode()).bytes(8, message(nil).number(2, 17))
	for i := 0; i < len(metadata); i += 2 {
		m = m.bytes(14, message(nil).text(1, metadata[i]).text(2, metadata[i+1]))
	}
	return m
}

// The random model that hears a waveform: so many samples, at so many a second, and as many
// classes as its description names.
const (
	waveSamples = 800
	waveClasses = 5
)

// described describes the random models. %s is more of it.
const described = `{"family":"test","input":"waveform","sample_rate":8000,"output":"scores","gives":"scores",` +
	`"classes":["Owl","Crow","Wren","Rook","Kite"]}`

// randomWeights are uniform in ±1/16, and the same each time.
func randomWeights(n int) []float32 {
	random := rand.New(rand.NewPCG(7, 11))
	values := make([]float32, n)
	for i := range values {
		values[i] = (random.Float32()*2 - 1) / 16
	}
	return values
}

// waveform is the random model: the sigmoid of weighted sums of its samples. It has so many
// clips a run.
func waveform(batch int64) graph {
	return graph{
		weights: []message{floats("weights", randomWeights(waveSamples*waveClasses), waveSamples, waveClasses)},
		nodes: []message{
			node("MatMul", []string{"waveform", "weights"}, []string{"sums"}),
			node("Sigmoid", []string{"sums"}, []string{"scores"}),
		},
		inputs:  []message{tensorInfo("waveform", float32s, batch, waveSamples)},
		outputs: []message{tensorInfo("scores", float32s, batch, waveClasses)},
	}
}

// waveformScore is what the random model gives.
func waveformScore(clip []float32, class int) float64 {
	weights := randomWeights(waveSamples * waveClasses)
	sum := 0.0
	for i, x := range clip {
		sum += float64(x) * float64(weights[i*waveClasses+class])
	}
	return 1 / (1 + math.Exp(-sum))
}

// featuresModel is a random model that hears the transformer's features: weighted sums of their
// means over time.
func featuresModel() graph {
	return graph{
		weights: []message{floats("weights", randomWeights(128*waveClasses), 128, waveClasses)},
		nodes: []message{
			node("ReduceMean", []string{"spectrogram"}, []string{"means"}, integers("axes", 1), integer("keepdims", 0)),
			node("MatMul", []string{"means", "weights"}, []string{"sums"}),
		},
		inputs:  []message{tensorInfo("spectrogram", float32s, anyLength, 1024, 128)},
		outputs: []message{tensorInfo("sums", float32s, anyLength, waveClasses)},
	}
}

// loud is a node that makes "loud" of the waveform: 1 if a sample is over 0.5, else 0, as
// an integer.
func loud() []message {
	return []message{
		node("ReduceMax", []string{"waveform"}, []string{"peak"}, integer("keepdims", 0)),
		node("Greater", []string{"peak", "half"}, []string{"over"}),
		node("Cast", []string{"over"}, []string{"loud"}, integer("to", int64s)),
	}
}
