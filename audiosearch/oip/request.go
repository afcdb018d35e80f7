package oip

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"sync"

	"github.com/seed-6363c74e/mortise/audiosearch/inference"
)

// inferRequest is the JSON of an inference, with the data of the input at its end.
type inferRequest struct {
	ID      string          `json:"id"`
	Outputs []requestOutput `json:"outputs"`
	Inputs  []requestInput  `json:"inputs"`
}

type requestInput struct {
	Name       string          `json:"name"`
	Shape      []int64         `json:"shape"`
	Datatype   string          `json:"datatype"`
	Parameters map[string]any  `json:"parameters,omitempty"`
	Data       json.RawMessage `json:"data,omitempty"`
}

type requestOutput struct {
	Name       string         `json:"name"`
	Parameters map[string]any `json:"parameters,omitempty"`
}

// newPayload makes the body of an inference. done lets go of input, which nothing reads
// any more then.
func newPayload(
	n *inference.Network, id string, clips int, input []float32, binaryTensors bool,
) (p payload, done func(), err error) {
	in := requestInput{Name: n.Input().Name, Shape: n.InputShape(clips), Datatype: inference.Float32}
	out := requestOutput{Name: n.Output().Name}
	if binaryTensors {
		in.Parameters = map[string]any{"binary_data_size": 4 * len(input)}
		out.Parameters = map[string]any{"binary_data": true}
	}
	head, err := json.Marshal(inferRequest{ID: id, Inputs: []requestInput{in}, Outputs: []requestOutput{out}})
	if err != nil {
		return nil, nil, err
	}
	if binaryTensors {
		b := &binaryPayload{head: head, values: input, length: int64(len(head) + 4*len(input))}
		return b, b.close, nil
	}
	const closing = "}]}" // of the input, the list of inputs and the request
	text := append(make([]byte, 0, len(head)+12*len(input)), head[:len(head)-len(closing)]...)
	text = append(text, `,"data":[`...)
	for i, x := range input {
		if x-x != 0 {
			return nil, nil, fmt.Errorf("oip: value %d of the input is %v, which JSON cannot say", i, x)
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendFloat(text, float64(x), 'g', -1, 32)
	}
	text = append(text, "]"+closing...)
	return jsonPayload(text), func() {}, nil
}

// jsonPayload is a request in JSON. Nobody writes to it, so it may be read after the
// call.
type jsonPayload []byte

func (p jsonPayload) size() int64         { return int64(len(p)) }
func (p jsonPayload) open() io.ReadCloser { return &payloadReader{head: p} }
func (p jsonPayload) header(h http.Header) {
	h.Set("Content-Type", "application/json")
}

// binaryPayload is JSON, and behind it the numbers as they are in memory on most
// machines. A transport may go on reading after its answer, when the numbers belong to
// somebody else again: then they are gone.
type binaryPayload struct {
	head   []byte
	length int64

	mu     sync.Mutex
	values []float32 // nil: they belong to somebody else
}

func (p *binaryPayload) size() int64         { return p.length }
func (p *binaryPayload) open() io.ReadCloser { return &payloadReader{head: p.head, tail: p} }
func (p *binaryPayload) header(h http.Header) {
	h.Set("Content-Type", "application/octet-stream")
	h.Set(headerLength, strconv.Itoa(len(p.head)))
}

// close lets go of the numbers.
func (p *binaryPayload) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.values = nil
}

// errOver ends the reading of a request that nobody waits for any more.
var errOver = errors.New("oip: the request is over")

// readAt writes the numbers from one on to dst, and returns how many bytes that were: 0
// at their end.
func (p *binaryPayload) readAt(dst []byte, first int) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.values == nil {
		return 0, errOver
	}
	n := min(len(dst)/4, len(p.values)-first)
	for i, x := range p.values[first : first+n] {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(x))
	}
	return 4 * n, nil
}

// payloadReader reads a payload once.
type payloadReader struct {
	head   []byte
	tail   *binaryPayload // nil: there is none
	values int            // of tail, that were read
	rest   [4]byte        // of one that was read in part
	left   int
}

// Read implements [io.Reader].
func (r *payloadReader) Read(dst []byte) (int, error) {
	switch {
	case len(dst) == 0:
		return 0, nil
	case len(r.head) > 0:
		n := copy(dst, r.head)
		r.head = r.head[n:]
		return n, nil
	case r.tail == nil:
		return 0, io.EOF
	case r.left == 0 && len(dst) < 4:
		n, err := r.tail.readAt(r.rest[:], r.values)
		if err != nil {
			return 0, err
		}
		r.values += n / 4
		r.left = n
	}
	if r.left > 0 {
		n := copy(dst, r.rest[4-r.left:])
		r.left -= n
		return n, nil
	}
	n, err := r.tail.readAt(dst, r.values)
	r.values += n / 4
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// Close implements [io.Closer].
func (r *payloadReader) Close() error { return nil }
