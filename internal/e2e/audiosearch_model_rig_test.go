package e2e

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/ffmpeg"
	"github.com/seed-6363c74e/mortise/audiosearch/onnx"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
)

// runtimeLibrary returns the file of ONNX Runtime's library. A machine without it skips the
// test; CI must have it.
func runtimeLibrary(t testing.TB) string {
	t.Helper()
	library, err := onnx.Find("")
	switch {
	case err == nil:
		return library.Path
	case os.Getenv(onnx.Environment) != "" || os.Getenv("CI") == "true":
		t.Fatal(err)
	}
	t.Skip(err)
	return ""
}

// referenceData returns a file of the folder that MORTISE_REFERENCE_DATA names, which has what
// may not be in this repository, so that CI does not have it either.
func referenceData(t testing.TB, name ...string) string {
	t.Helper()
	folder := os.Getenv("MORTISE_REFERENCE_DATA")
	if folder == "" {
		t.Skipf("MORTISE_REFERENCE_DATA is not set: %s is not there", filepath.Join(name...))
	}
	folder, err := filepath.Abs(folder)
	require.NoError(t, err)
	return filepath.Join(append([]string{folder}, name...)...)
}

// tinyTransformer returns the file of the transformer with small layers and random weights.
func tinyTransformer(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "audiosearch", "onnx", "testdata", "ast_tiny_random.onnx"))
	require.NoError(t, err)
	return path
}

// yamnet returns the file of YAMNet.
func yamnet(t *testing.T) string {
	t.Helper()
	return referenceData(t, "yamnet", "yamnet_official_int8w.onnx")
}

// startModel runs a server that hears with a model.
func (p program) startModel(t *testing.T, model, config string) *server {
	t.Helper()
	return p.start(t, nil, "-model", model, "-onnxruntime", runtimeLibrary(t), "-config", config)
}

// allMedia reads what the server reads, as it does.
func allMedia(t *testing.T) sound.Media {
	t.Helper()
	waves := wav.Media{}
	others, err := ffmpeg.New(nil)
	require.NoError(t, err)
	return sound.FirstMedia(waves, others)
}

// goldenLogits returns the reference's answers for the signals, by PyTorch on torchaudio's
// features.
func goldenLogits(t *testing.T) map[string][]float64 {
	t.Helper()
	text := read(t, filepath.Join("..", "..", "audiosearch", "onnx", "testdata", "ast_tiny_random.logits.json"))
	var golden map[string][]float64
	require.NoError(t, json.Unmarshal(text, &golden))
	require.Len(t, golden, 9)
	return golden
}

func sigmoid(logit float64) float64 { return 1 / (1 + math.Exp(-logit)) }

// logit is the opposite of sigmoid.
func logit(score float64) float64 { return math.Log(score / (1 - score)) }

// recording is one of the labelled recordings.
type recording struct {
	file   string
	kind   string   // the name of the file, without the number
	labels []string // names of AudioSet
}

// recordings returns those of the reference data.
func recordings(t *testing.T) (all []recording) {
	t.Helper()
	f, err := os.Open(referenceData(t, "sounds", "index.tsv"))
	require.NoError(t, err)
	defer f.Close()
	table := csv.NewReader(f)
	table.Comma = '\t'
	rows, err := table.ReadAll()
	require.NoError(t, err)
	for _, row := range rows[1:] {
		kind := row[0][:strings.LastIndex(row[0], "-")]
		all = append(all, recording{file: row[0], kind: kind, labels: strings.Split(row[1], "; ")})
	}
	require.Len(t, all, 29)
	return all
}
