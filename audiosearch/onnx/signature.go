package onnx

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/seed-6363c74e/mortise/audiosearch/inference"
)

// signature is what a model says of itself.
type signature struct {
	inference.Signature
	unshaped   map[string]*inference.Tensor // those without a shape
	incomplete bool                         // there are some
}

// The bounds of what a model says of itself.
const (
	maxTensors  = 1024 // inputs and outputs
	maxDims     = 64
	maxMetadata = 8 << 20 // bytes
)

// The names of types of numbers in the Open Inference Protocol, by TensorProto.DataType.
var typeNames = []string{
	1: "FP32", 2: "UINT8", 3: "INT8", 4: "UINT16", 5: "INT16", 6: "INT32", 7: "INT64", 8: "BYTES", 9: "BOOL",
	10: "FP16", 11: "FP64", 12: "UINT32", 13: "UINT64", 14: "COMPLEX64", 15: "COMPLEX128", 16: "BF16",
}

// readSignature looks through a model and reads what it says of itself. It reads it here, and
// not from ONNX Runtime, since whoever only asks that has the model loaded twice, and since
// what is broken is better refused before.
func readSignature(model []byte) (*signature, error) {
	switch {
	case len(model) == 0:
		return nil, errors.New("the model is empty")
	case int64(len(model)) > MaxModel:
		return nil, fmt.Errorf("the model has %d bytes; an ONNX file has at most %d", len(model), int64(MaxModel))
	case len(model) >= 8 && string(model[4:8]) == "ORTM":
		return nil, errors.New("the model is in the format of ONNX Runtime (.ort): take the .onnx file it was made of")
	}
	if err := inspect(model); err != nil {
		return nil, err
	}
	s := &signature{unshaped: map[string]*inference.Tensor{}}
	s.Metadata = map[string]string{}
	weights := map[string]bool{}
	metadata := 0
	err := fields(model, func(number int, _ uint64, data []byte) error {
		switch number {
		case modelGraph:
			return fields(data, func(number int, _ uint64, data []byte) error {
				switch number {
				case graphInput:
					return s.add(&s.Inputs, data)
				case graphOutput:
					return s.add(&s.Outputs, data)
				case graphInitializer:
					weights[text(data, tensorName)] = true
				case graphSparse:
					_ = fields(data, func(number int, _ uint64, data []byte) error {
						if number == sparseValues {
							weights[text(data, tensorName)] = true
						}
						return nil
					})
				}
				return nil
			})
		case modelMetadata:
			if metadata += len(data); metadata > maxMetadata {
				return fmt.Errorf("the model has more than %d bytes of metadata", maxMetadata)
			}
			s.Metadata[text(data, 1)] = text(data, 2)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	// Old exports list the weights among the inputs.
	var inputs []inference.Tensor
	for _, in := range s.Inputs {
		if !weights[in.Name] {
			inputs = append(inputs, in)
		} else {
			delete(s.unshaped, in.Name)
		}
	}
	s.Inputs = inputs
	for _, tensors := range [][]inference.Tensor{s.Inputs, s.Outputs} {
		for i := range tensors {
			if _, ok := s.unshaped[tensors[i].Name]; ok {
				s.unshaped[tensors[i].Name] = &tensors[i]
				s.incomplete = true
			}
		}
	}
	return s, nil
}

// add reads a ValueInfoProto.
func (s *signature) add(to *[]inference.Tensor, data []byte) error {
	if len(*to) == maxTensors {
		return fmt.Errorf("the model has more than %d inputs or outputs", maxTensors)
	}
	t := inference.Tensor{Name: text(data, 1), Type: "UNKNOWN"}
	shaped := false
	err := fields(data, func(number int, _ uint64, data []byte) error {
		if number != 2 {
			return nil
		}
		return fields(data, func(number int, _ uint64, data []byte) error { // TypeProto
			switch number {
			case 1:
				return fields(data, func(number int, value uint64, data []byte) error { // TypeProto.Tensor
					switch number {
					case 1:
						t.Type = "type " + strconv.FormatUint(value, 10)
						if value < uint64(len(typeNames)) && typeNames[value] != "" {
							t.Type = typeNames[value]
						}
					case 2:
						shaped = true
						return readShape(&t, data)
					}
					return nil
				})
			case 4:
				t.Type, shaped = "SEQUENCE", true
			case 5:
				t.Type, shaped = "MAP", true
			case 7:
				t.Type, shaped = "OPAQUE", true
			case 8:
				t.Type, shaped = "SPARSE", true
			case 9:
				t.Type, shaped = "OPTIONAL", true
			}
			return nil
		})
	})
	if !shaped {
		s.unshaped[t.Name] = nil
	}
	*to = append(*to, t)
	return err
}

// readShape reads a TensorShapeProto.
func readShape(t *inference.Tensor, data []byte) error {
	return fields(data, func(number int, _ uint64, data []byte) error {
		if number != 1 {
			return nil
		}
		if len(t.Shape) == maxDims {
			return fmt.Errorf("an input or output of the model has more than %d dimensions", maxDims)
		}
		size := int64(-1)
		err := fields(data, func(number int, value uint64, _ []byte) error {
			if number == 1 { // else it has a name
				size = max(int64(value), -1)
			}
			return nil
		})
		t.Shape = append(t.Shape, size)
		return err
	})
}
