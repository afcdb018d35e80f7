//go:build cgo

package onnx

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/seed-6363c74e/mortise/audiosearch/inference"
)

// This file writes models that are meant to do harm.

// files are models by the names of their files.
type files map[string][]byte

func (f files) add(name string, g graph) { f[name+".onnx"] = g.model(inference.MetadataKey, described) }

// addWith adds the random model with more in the way of its scores: its nodes are given "s",
// the right scores, and make "extra", of which the sum, times zero, is added to them.
func (f files) addWith(name string, weights []message, nodes ...message) {
	f.add(name, with(weights, nodes...))
}

func with(weights []message, nodes ...message) graph {
	g := waveform(anyLength)
	g.weights = append(append(g.weights, floats("zero", []float32{0})), weights...)
	g.nodes = append([]message{g.nodes[0], node("Sigmoid", []string{"sums"}, []string{"s"})}, nodes...)
	g.nodes = append(g.nodes,
		node("ReduceSum", []string{"extra"}, []string{"total"}, integer("keepdims", 0)),
		node("Mul", []string{"total", "zero"}, []string{"nothing"}),
		node("Add", []string{"s", "nothing"}, []string{"scores"}))
	return g
}

// addImports adds a model with these sets of operators and functions of its own.
func (f files) addImports(name string, g graph, imports []message, functions ...message) {
	m := message(nil).number(1, 8).bytes(7, g.encode())
	for _, i := range imports {
		m = m.bytes(8, i)
	}
	for _, function := range functions {
		m = m.bytes(25, function)
	}
	f[name+".onnx"] = m.bytes(14, message(nil).text(1, inference.MetadataKey).text(2, described))
}

// opset is an OperatorSetIdProto.
func opset(domain string, version int64) message {
	return message(nil).text(1, domain).number(2, version)
}

// op is a node with its inputs and outputs as words, a dash for one that is left out.
func op(name, inputs, outputs string, attributes ...message) message {
	words := func(s string) []string {
		all := strings.Fields(s)
		for i := range all {
			if all[i] == "-" {
				all[i] = ""
			}
		}
		return all
	}
	return node(name, words(inputs), words(outputs), attributes...)
}

// in puts a node into a set of operators.
func in(domain string, m message) message { return m.text(7, domain) }

// long is a tensor of integers of one dimension.
func long(name string, values ...int64) message { return longs(name, values, int64(len(values))) }

// number32 is a field of a 32-bit float.
func (m message) number32(field int, v float32) message {
	m = binary.AppendUvarint(m, uint64(field)<<3|5)
	return binary.LittleEndian.AppendUint32(m, math.Float32bits(v))
}

// The following are AttributeProtos.

func word(name, v string) message { return message(nil).text(1, name).text(4, v).number(20, 3) }

func words(name string, values ...string) message {
	m := message(nil).text(1, name)
	for _, v := range values {
		m = m.text(9, v)
	}
	return m.number(20, 8)
}

func decimals(name string, values ...float32) message {
	m := message(nil).text(1, name)
	for _, v := range values {
		m = m.number32(7, v)
	}
	return m.number(20, 6)
}

// shapeless is a ValueInfoProto of 32-bit floats of no known shape.
func shapeless(name string) message {
	return message(nil).text(1, name).bytes(2, message(nil).bytes(1, message(nil).number(1, float32s)))
}

// function is a FunctionProto, which does one thing after the other. What begins with f is a
// function, too.
func function(name string, calls ...string) message {
	m := message(nil).text(1, name).text(4, "a").text(5, "b")
	at := "a"
	for i, c := range calls {
		to := "x" + strings.Repeat("x", i)
		if i == len(calls)-1 {
			to = "b"
		}
		n := node(c, []string{at}, []string{to})
		if strings.HasPrefix(c, "f") {
			n = in("local", n)
		}
		m, at = m.bytes(7, n), to
	}
	return m.bytes(9, opset("", 17)).bytes(9, opset("local", 1)).text(10, "local")
}

// addFunctions adds the random model that calls the function f0.
func (f files) addFunctions(name string, functions ...message) {
	g := with(nil, in("local", op("f0", "s", "extra")))
	f.addImports(name, g, []message{opset("", 17), opset("local", 1)}, functions...)
}

// filled is a tensor of one number for the weights of the random model.
func filled(v float32) []message {
	return []message{floats("weights", slices.Repeat([]float32{v}, waveSamples*waveClasses), waveSamples, waveClasses)}
}
