//go:build cgo

package e2e

import (
	"encoding/binary"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	ort "github.com/yalue/onnxruntime_go"

	"github.com/seed-6363c74e/mortise/audiosearch/astfeatures"
	"github.com/seed-6363c74e/mortise/internal/oipserver"
)

// onnxData is of the test data of package onnx.
func onnxData(t testing.TB, name string) []byte {
	return audioTestdata(t, "onnx", name)
}

func audioTestdata(t testing.TB, pkg, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "audiosearch", pkg, "testdata", name))
	require.NoError(t, err)
	return data
}

// goldenSignal returns one of the golden signals of package astfeatures, at 16 kHz.
func goldenSignal(t testing.TB, name string) []float32 {
	t.Helper()
	whole := 0
	if name == "dialtone_10s24" { // is the beginning of another one
		name, whole = "dialtone_12s", astfeatures.SampleRate*1024/100
	}
	raw := audioTestdata(t, "astfeatures", name+".s16le")
	samples := make([]float32, len(raw)/2)
	for i := range samples {
		samples[i] = float32(int16(binary.LittleEndian.Uint16(raw[2*i:]))) / 32768
	}
	if whole > 0 {
		samples = samples[:whole]
	}
	return samples
}

// astServer serves the transformer with small layers by ONNX Runtime, and returns the
// address of the model. Nothing of package onnx but its search for the library is used.
func astServer(t testing.TB, s *oipserver.Server, versions ...string) (address string) {
	t.Helper()
	runtimeLibrary(t)
	session, err := ort.NewDynamicAdvancedSessionWithONNXData(
		onnxData(t, "ast_tiny_random.onnx"), []string{"input_values"}, []string{"logits"}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, session.Destroy()) })
	s.Serve(oipserver.Model{
		Name: "ast", Versions: versions,
		Input:   oipserver.Tensor{Name: "input_values", Datatype: "FP32", Shape: []int64{-1, 1024, 128}},
		Outputs: []oipserver.Tensor{{Name: "logits", Datatype: "FP32", Shape: []int64{-1, 527}}},
		Run: func(_ string, shape []int64, input []float32) (map[string][]float32, error) {
			in, err := ort.NewTensor(shape, input)
			if err != nil {
				return nil, err
			}
			defer in.Destroy()
			out, err := ort.NewEmptyTensor[float32]([]int64{shape[0], 527})
			if err != nil {
				return nil, err
			}
			defer out.Destroy()
			if err := session.Run([]ort.Value{in}, []ort.Value{out}); err != nil {
				return nil, err
			}
			return map[string][]float32{"logits": append([]float32(nil), out.GetData()...)}, nil
		},
	})
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server.URL + "/v2/models/ast"
}
