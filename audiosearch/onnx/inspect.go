package onnx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// The numbers of fields in onnx.proto (https://github.com/onnx/onnx, onnx/onnx.proto3).
const (
	modelGraph, modelMetadata      = 7, 14
	graphInitializer, graphSparse  = 5, 15
	graphInput, graphOutput        = 11, 12
	tensorDims, tensorName         = 1, 8
	tensorExternal, tensorLocation = 13, 14
	sparseValues, sparseIndices    = 1, 2
)

// The bounds of a model. The largest ones in use have some 10,000 nodes.
const (
	maxNesting    = 32 // of graphs in nodes of graphs
	maxNodes      = 100_000
	maxParts      = 1_000_000 // nodes, attributes, tensors and others together
	valuesInAByte = 8         // of a tensor: no type has more
)

// kind is a message of ONNX.
type kind int

const (
	kindOther kind = iota // is not looked into
	kindModel
	kindGraph
	kindNode
	kindAttribute
	kindTensor
	kindSparse
	kindFunction
	kindTraining
)

// within says which messages are in which fields of which.
var within = map[kind]map[int]kind{
	kindModel:     {modelGraph: kindGraph, 20: kindTraining, 25: kindFunction},
	kindGraph:     {1: kindNode, graphInitializer: kindTensor, graphSparse: kindSparse},
	kindNode:      {5: kindAttribute},
	kindAttribute: {5: kindTensor, 6: kindGraph, 10: kindTensor, 11: kindGraph, 22: kindSparse, 23: kindSparse},
	kindSparse:    {sparseValues: kindTensor, sparseIndices: kindTensor},
	kindFunction:  {7: kindNode, 11: kindAttribute},
	kindTraining:  {1: kindGraph, 2: kindGraph},
}

// inspect returns what is wrong with a model, as far as that can be seen without knowing
// what it computes.
func inspect(model []byte) error {
	hasGraph := false
	_ = fields(model, func(number int, _ uint64, data []byte) error {
		hasGraph = hasGraph || number == modelGraph && data != nil
		return nil
	})
	var l looker
	err := l.look(kindModel, model, 0)
	if err == nil && !hasGraph {
		err = errNoModel
	}
	if err == nil {
		err = lookFunctions(model)
	}
	return err
}

// errNoModel is the error of what is no Protocol Buffers message, or another one.
var errNoModel = errors.New("the model is no ONNX file, or a part of one: fetch it again and compare its SHA-256")

// looker looks through a model.
type looker struct{ nodes, parts int }

// look looks through a message.
func (l *looker) look(k kind, data []byte, depth int) error {
	l.parts++
	if k == kindNode {
		l.nodes++
	}
	if l.nodes > maxNodes || l.parts > maxParts {
		return fmt.Errorf("the model has more than %d nodes, or more than %d parts in all: the time to load it has no bound",
			maxNodes, maxParts)
	}
	if k == kindGraph {
		if depth++; depth > maxNesting {
			return fmt.Errorf("the model nests graphs in graphs, more than %d deep", maxNesting)
		}
	}
	switch k {
	case kindTensor:
		return lookTensor(data)
	case kindNode:
		if err := lookNode(data); err != nil {
			return err
		}
	}
	return fields(data, func(number int, _ uint64, data []byte) error {
		inner := within[k][number]
		switch {
		case inner == kindOther:
			return nil
		case data == nil:
			return errNoModel
		}
		return l.look(inner, data, depth)
	})
}

// lookTensor looks whether a TensorProto has its numbers, and has them here.
func lookTensor(data []byte) error {
	values, known := uint64(1), true
	dim := func(n uint64) {
		hi, lo := bits.Mul64(values, n)
		values, known = lo, known && hi == 0
	}
	external, location := false, ""
	err := fields(data, func(number int, value uint64, data []byte) error {
		switch number {
		case tensorDims: // packed or not
			for rest := data; len(rest) > 0; {
				n, size := binary.Uvarint(rest)
				if size <= 0 {
					return errNoModel
				}
				dim(n)
				rest = rest[size:]
			}
			if data == nil {
				dim(value)
			}
		case tensorLocation:
			external = external || value != 0
		case tensorExternal:
			external = true
			if text(data, 1) == "location" {
				location = text(data, 2)
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case external:
		return fmt.Errorf("the model keeps weights in another file (%s): save it as one file, as onnx.save_model does "+
			"with save_as_external_data=False", quote(location))
	case !known, values/valuesInAByte > uint64(len(data)):
		return fmt.Errorf("the model's tensor %s lacks the numbers that its shape promises: fetch it again and compare its SHA-256",
			quote(text(data, tensorName)))
	}
	return nil
}

// quote makes a text from a model fit for a message.
func quote(s string) string {
	const shown = 60
	if len(s) > shown {
		s = s[:shown] + "..."
	}
	return strconv.Quote(s)
}

// tidy makes a sentence of what ONNX Runtime says of a model.
func tidy(err error) error {
	const shown = 400
	text := strings.Join(strings.FieldsFunc(strings.ToValidUTF8(err.Error(), "?"), func(r rune) bool {
		return r <= ' ' || !strconv.IsPrint(r)
	}), " ")
	for _, said := range []string{"Error running network: ", "Error creating C session: ", "Platform-specific initialization failed: "} {
		text = strings.TrimPrefix(text, said)
	}
	if len(text) > shown {
		text = strings.ToValidUTF8(text[:shown], "") + "..."
	}
	return errors.New(text)
}

// text returns a field of a message, the last one of its number: "" if there is none.
func text(message []byte, number int) string {
	var s string
	_ = fields(message, func(n int, _ uint64, data []byte) error {
		if n == number && data != nil {
			s = string(data)
		}
		return nil
	})
	return s
}

// fields calls do for each field of a Protocol Buffers message: with its value if it is a
// number, or its bytes, which are not nil, if it has a length. Numbers of fixed size, of
// which there are none here that matter, have value 0.
func fields(message []byte, do func(number int, value uint64, data []byte) error) error {
	for len(message) > 0 {
		key, n := binary.Uvarint(message)
		if n <= 0 || key>>3 == 0 || key>>3 > 1<<29-1 {
			return errNoModel
		}
		message = message[n:]
		var value uint64
		var data []byte
		switch key & 7 {
		case 0:
			if value, n = binary.Uvarint(message); n <= 0 {
				return errNoModel
			}
		case 1:
			n = 8
		case 2:
			length, size := binary.Uvarint(message)
			if size <= 0 || length > uint64(len(message)-size) {
				return errNoModel
			}
			n = size + int(length)
			data = message[size:n:n]
		case 5:
			n = 4
		default: // groups, which ONNX does not have
			return errNoModel
		}
		if n > len(message) {
			return errNoModel
		}
		message = message[n:]
		if err := do(int(key>>3), value, data); err != nil {
			return err
		}
	}
	return nil
}
