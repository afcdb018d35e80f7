package oip

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/inference"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// network takes two samples.
func network(t *testing.T) *inference.Network {
	n, err := inference.Recognize(inference.Signature{
		Inputs:  []inference.Tensor{{Name: `a "name"`, Type: inference.Float32, Shape: []int64{-1, 2}}},
		Outputs: []inference.Tensor{{Name: "out", Type: inference.Float32, Shape: []int64{-1, 1}}},
	}, &inference.Description{Family: "f", SampleRate: 2000, Gives: "scores", Classes: []sound.Class{"c"}})
	require.NoError(t, err)
	return n
}

// TestPayloads: a request is the same however it is read, and as often as it is sent.
func TestPayloads(t *testing.T) {
	values := []float32{0, -1.5, math.MaxFloat32, math.SmallestNonzeroFloat32}
	for _, inBinary := range []bool{false, true} {
		p, done, err := newPayload(network(t), "7", 2, values, inBinary)
		require.NoError(t, err)
		whole, err := io.ReadAll(p.open())
		require.NoError(t, err)
		require.EqualValues(t, len(whole), p.size())
		for name, slowly := range map[string]func(io.Reader) io.Reader{
			"one byte": iotest.OneByteReader, "half": iotest.HalfReader, "again": func(r io.Reader) io.Reader { return r },
		} {
			again, err := io.ReadAll(slowly(p.open()))
			require.NoError(t, err)
			require.Equal(t, whole, again, name)
		}
		head, data := whole, []float32(nil)
		if inBinary {
			for head = whole[:len(whole)-16]; len(data) < 4; {
				data = append(data, math.Float32frombits(binary.LittleEndian.Uint32(whole[len(head)+4*len(data):])))
			}
		}
		var request inferRequest
		require.NoError(t, json.Unmarshal(head, &request))
		if !inBinary {
			require.NoError(t, json.Unmarshal(request.Inputs[0].Data, &data))
		}
		require.Equal(t, values, data)
		require.Equal(t, []any{"7", `a "name"`, []int64{2, 2}, "FP32", "out"}, []any{
			request.ID, request.Inputs[0].Name, request.Inputs[0].Shape, request.Inputs[0].Datatype, request.Outputs[0].Name})

		// A transport may still read when the call is over, and the numbers are another
		// call's.
		late := p.open()
		_, err = io.ReadFull(late, make([]byte, len(head)))
		require.NoError(t, err)
		done()
		_, err = late.Read(make([]byte, 16))
		if inBinary {
			require.ErrorIs(t, err, errOver)
		}
	}
}

// TestNoNumberInJSON: what JSON cannot say is not sent.
func TestNoNumberInJSON(t *testing.T) {
	for _, x := range []float32{float32(math.NaN()), float32(math.Inf(-1))} {
		_, _, err := newPayload(network(t), "7", 1, []float32{0, x}, false)
		require.ErrorContains(t, err, "value 1")
	}
}
