package oipserver

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"
)

const (
	maxRequest   = 256 << 20 // bytes
	lengthHeader = "Inference-Header-Content-Length"
)

// datatypes are those of the protocol.
var datatypes = []string{
	"BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP16", "FP32", "FP64", "BYTES",
}

// object is a JSON object whose keys are checked, with case.
type object map[string]json.RawMessage

// open reads an object that has all of some keys, and may have others.
func open(data []byte, what string, required, optional []string) (object, *refusal) {
	var o object
	if err := json.Unmarshal(data, &o); err != nil || o == nil {
		return nil, refuse(http.StatusBadRequest, "%s is no JSON object: %v", what, err)
	}
	for key := range o {
		if !slices.Contains(required, key) && !slices.Contains(optional, key) {
			return nil, refuse(http.StatusBadRequest, "%s has the unknown key %q", what, key)
		}
	}
	for _, key := range required {
		if _, ok := o[key]; !ok {
			return nil, refuse(http.StatusBadRequest, "%s has no %s", what, key)
		}
	}
	return o, nil
}

// text reads a string.
func (o object) text(key string) (s string, no *refusal) {
	if json.Unmarshal(o[key], &s) != nil || bytes.Equal(o[key], []byte("null")) {
		return "", refuse(http.StatusBadRequest, "%s must be a string", key)
	}
	return s, nil
}

// parameters reads those of an object: strings, numbers and booleans. Others than the
// known are for servers that know them.
func (o object) parameters(known ...string) (map[string]any, *refusal) {
	raw, ok := o["parameters"]
	if !ok {
		return nil, nil
	}
	var p map[string]any
	if json.Unmarshal(raw, &p) != nil || p == nil {
		return nil, refuse(http.StatusBadRequest, "parameters must be an object")
	}
	for key, value := range p {
		switch value.(type) {
		case string, float64, bool:
		default:
			return nil, refuse(http.StatusBadRequest, "parameter %s must be a string, a number or a boolean", key)
		}
		if !slices.Contains(known, key) {
			return nil, refuse(http.StatusBadRequest, "parameter %s is unknown", key)
		}
	}
	return p, nil
}

// infer answers an inference.
func (s *Server) infer(w http.ResponseWriter, r *http.Request, m *Model, version string, seen *Request) *refusal {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		return refuse(http.StatusBadRequest, "the body cannot be read: %v", err)
	}
	if r.ContentLength != int64(len(body)) {
		return refuse(http.StatusLengthRequired, "Content-Length is required")
	}
	head, tail, no := s.split(r, body)
	if no != nil {
		return no
	}
	request, no := open(head, "the request", []string{"inputs"}, []string{"id", "parameters", "outputs"})
	if no != nil {
		return no
	}
	id := ""
	if _, ok := request["id"]; ok {
		if id, no = request.text("id"); no != nil {
			return no
		}
	}
	if _, no = request.parameters(); no != nil {
		return no
	}
	shape, input, no := s.input(request, m, &tail)
	if no != nil {
		return no
	}
	if len(tail) > 0 {
		return refuse(http.StatusBadRequest, "%d bytes of binary data belong to no input", len(tail))
	}
	if m.MaxBatch > 0 && shape[0] > int64(m.MaxBatch) {
		return refuse(http.StatusBadRequest, "inference request batch-size must be <= %d for '%s'", m.MaxBatch, m.Name)
	}
	outputs, no := s.outputs(request, m)
	if no != nil {
		return no
	}
	seen.Clips = shape[0]
	if s.Latency > 0 {
		time.Sleep(s.Latency)
	}
	results, err := m.Run(version, shape, input)
	if err != nil {
		return refuse(http.StatusInternalServerError, "%v", err)
	}
	return s.respond(w, m, id, version, shape, outputs, results)
}

// split cuts a body into JSON and binary data.
func (s *Server) split(r *http.Request, body []byte) (head, tail []byte, no *refusal) {
	lengths := r.Header.Values(lengthHeader)
	kind := r.Header.Get("Content-Type")
	if len(lengths) == 0 {
		if kind != "application/json" {
			return nil, nil, refuse(http.StatusUnsupportedMediaType, "Content-Type is %q; send application/json", kind)
		}
		return body, nil, nil
	}
	if !slices.Contains(s.Extensions, Binary) {
		return nil, nil, refuse(http.StatusBadRequest, "%s is of an extension that this server does not have", lengthHeader)
	}
	if kind != "application/octet-stream" {
		return nil, nil, refuse(http.StatusUnsupportedMediaType, "Content-Type is %q; send application/octet-stream", kind)
	}
	n, err := strconv.ParseUint(lengths[0], 10, 32)
	if err != nil || len(lengths) > 1 || n > uint64(len(body)) {
		return nil, nil, refuse(http.StatusBadRequest, "%s is %q of %d bytes", lengthHeader, lengths, len(body))
	}
	return body[:n], body[n:], nil
}

// input reads the one input.
func (s *Server) input(request object, m *Model, tail *[]byte) (shape []int64, values []float32, no *refusal) {
	var inputs []json.RawMessage
	if json.Unmarshal(request["inputs"], &inputs) != nil || len(inputs) != 1 {
		return nil, nil, refuse(http.StatusBadRequest, "inputs must be a list of 1 input")
	}
	in, no := open(inputs[0], "the input", []string{"name", "shape", "datatype"}, []string{"parameters", "data"})
	if no != nil {
		return nil, nil, no
	}
	name, no := in.text("name")
	if no != nil {
		return nil, nil, no
	}
	kind, no := in.text("datatype")
	if no != nil {
		return nil, nil, no
	}
	var sizes []uint64
	if json.Unmarshal(in["shape"], &sizes) != nil || sizes == nil {
		return nil, nil, refuse(http.StatusBadRequest, "shape must be a list of unsigned integers")
	}
	count := int64(1)
	for _, d := range sizes {
		if d == 0 || d > maxRequest || count*int64(d) > maxRequest {
			return nil, nil, refuse(http.StatusBadRequest, "shape %v is empty or too large", sizes)
		}
		shape = append(shape, int64(d))
		count *= int64(d)
	}
	switch {
	case name != m.Input.Name:
		return nil, nil, refuse(http.StatusBadRequest, "the input is %q; send %q", name, m.Input.Name)
	case !slices.Contains(datatypes, kind):
		return nil, nil, refuse(http.StatusBadRequest, "datatype %q is none of the protocol", kind)
	case kind != m.Input.Datatype:
		return nil, nil, refuse(http.StatusBadRequest, "datatype %s is not %s", kind, m.Input.Datatype)
	case !fits(shape, m.Input.Shape):
		return nil, nil, refuse(http.StatusBadRequest, "shape %v does not fit %v", shape, m.Input.Shape)
	}
	p, no := in.parameters("binary_data_size")
	if no != nil {
		return nil, nil, no
	}
	size, inBinary := p["binary_data_size"]
	data, inJSON := in["data"]
	switch {
	case inBinary == inJSON:
		return nil, nil, refuse(http.StatusBadRequest, "the input must have either data or binary_data_size")
	case inBinary && size != float64(4*count):
		return nil, nil, refuse(http.StatusBadRequest, "binary_data_size is %v, shape %v makes %d", size, shape, 4*count)
	case inBinary && int64(len(*tail)) < 4*count:
		return nil, nil, refuse(http.StatusBadRequest, "%d bytes of binary data; %d are announced", len(*tail), 4*count)
	case inBinary:
		values = make([]float32, count)
		for i := range values {
			values[i] = math.Float32frombits(binary.LittleEndian.Uint32((*tail)[4*i:]))
		}
		*tail = (*tail)[4*count:]
		return shape, values, nil
	}
	var flat []float32
	if json.Unmarshal(data, &flat) != nil {
		if flat, no = nested(data, shape); no != nil {
			return nil, nil, no
		}
	}
	if int64(len(flat)) != count || bytes.Contains(data, []byte("null")) {
		return nil, nil, refuse(http.StatusBadRequest, "data has %d numbers, shape %v makes %d", len(flat), shape, count)
	}
	return shape, flat, nil
}

// nested reads data that are nested as a shape says.
func nested(data json.RawMessage, shape []int64) (flat []float32, no *refusal) {
	if len(shape) == 1 {
		if json.Unmarshal(data, &flat) != nil || int64(len(flat)) != shape[0] {
			return nil, refuse(http.StatusBadRequest, "data are no numbers, flat or nested as the shape says")
		}
		return flat, nil
	}
	var rows []json.RawMessage
	if json.Unmarshal(data, &rows) != nil || int64(len(rows)) != shape[0] {
		return nil, refuse(http.StatusBadRequest, "data are not nested as the shape says")
	}
	for _, row := range rows {
		part, no := nested(row, shape[1:])
		if no != nil {
			return nil, no
		}
		flat = append(flat, part...)
	}
	return flat, nil
}

// fits reports whether a shape is one that a model takes.
func fits(shape, model []int64) bool {
	return slices.EqualFunc(shape, model, func(d, m int64) bool { return m == d || m < 0 })
}

// wantedOutput is an output as it was asked for.
type wantedOutput struct {
	Tensor
	binary bool
}

// outputs reads which outputs are wanted; no list stands for all.
func (s *Server) outputs(request object, m *Model) (wanted []wantedOutput, no *refusal) {
	raw, ok := request["outputs"]
	if !ok {
		for _, t := range m.Outputs {
			wanted = append(wanted, wantedOutput{Tensor: t})
		}
		return wanted, nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return nil, refuse(http.StatusBadRequest, "outputs must be a list of outputs")
	}
	for _, item := range list {
		o, no := open(item, "an output", []string{"name"}, []string{"parameters"})
		if no != nil {
			return nil, no
		}
		name, no := o.text("name")
		if no != nil {
			return nil, no
		}
		p, no := o.parameters("binary_data")
		if no != nil {
			return nil, no
		}
		asBinary, isBool := p["binary_data"].(bool)
		i := slices.IndexFunc(m.Outputs, func(t Tensor) bool { return t.Name == name })
		switch {
		case i < 0:
			return nil, refuse(http.StatusBadRequest, "unexpected inference output '%s' for model '%s'", name, m.Name)
		case slices.ContainsFunc(wanted, func(w wantedOutput) bool { return w.Name == name }):
			return nil, refuse(http.StatusBadRequest, "output %s is asked for twice", name)
		case p != nil && !isBool:
			return nil, refuse(http.StatusBadRequest, "binary_data must be a boolean")
		case asBinary && !slices.Contains(s.Extensions, Binary):
			return nil, refuse(http.StatusBadRequest, "binary_data is of an extension that this server does not have")
		}
		wanted = append(wanted, wantedOutput{m.Outputs[i], asBinary})
	}
	return wanted, nil
}

// respond writes the outputs.
func (s *Server) respond(
	w http.ResponseWriter, m *Model, id, version string, input []int64, wanted []wantedOutput, results map[string][]float32,
) *refusal {
	var tail []byte
	outputs := []any{}
	for _, t := range wanted {
		shape, values := slices.Clone(t.Shape), results[t.Name]
		if len(shape) > 0 && shape[0] < 0 {
			shape[0] = input[0]
		}
		count := int64(1)
		for _, d := range shape {
			count *= d
		}
		if int64(len(values)) != count {
			return refuse(http.StatusInternalServerError, "the model gave %d values for %s of shape %v", len(values), t.Name, shape)
		}
		output := map[string]any{"name": t.Name, "datatype": t.Datatype, "shape": shape}
		switch {
		case t.binary:
			output["parameters"] = map[string]any{"binary_data_size": 4 * len(values)}
			for _, x := range values {
				tail = binary.LittleEndian.AppendUint32(tail, math.Float32bits(x))
			}
		case s.Nested:
			output["data"] = nest(values, shape)
		default:
			output["data"] = values
		}
		outputs = append(outputs, output)
	}
	response := map[string]any{"model_name": m.Name, "outputs": outputs}
	if version != "" {
		response["model_version"] = version
	}
	if id != "" {
		response["id"] = id
	}
	if tail == nil {
		answer(w, http.StatusOK, response)
		return nil
	}
	text, err := json.Marshal(response)
	if err != nil {
		return refuse(http.StatusInternalServerError, "%v", fmt.Errorf("the answer: %w", err))
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set(lengthHeader, strconv.Itoa(len(text)))
	_, _ = w.Write(append(text, tail...))
	return nil
}

// nest makes nested lists of values.
func nest(values []float32, shape []int64) any {
	if len(shape) <= 1 {
		return values
	}
	rows := []any{}
	for size := len(values) / int(shape[0]); len(values) > 0; values = values[size:] {
		rows = append(rows, nest(values[:size], shape[1:]))
	}
	return rows
}
