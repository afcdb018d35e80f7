package astfeatures_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/astfeatures"
)

// What a cell is, normalised, if nothing was heard, and if no frame fills it.
const (
	silent  = -1.2775939
	padding = 0.46703237
)

// reference is what torchaudio made of a signal, from testdata/ref.json.
type reference struct {
	Samples int       `json:"samples"`
	Frames  int       `json:"frames"`
	Kept    int       `json:"kept"` // frames that fit
	Mean    float64   `json:"input_values_mean"`
	Least   float64   `json:"input_values_min"`
	Most    float64   `json:"input_values_max"`
	First   []float64 `json:"iv_first8"`
	Argmax  int       `json:"iv_row0_argmax"`
}

// second is how far transformers.js is from torchaudio, from testdata/ref_tjs.json.
type second struct {
	Most   float64 `json:"max_abs_diff_input_values"`
	Louder float64 `json:"max_diff_where_logmel_gt_minus8"`
}

func readJSON[T any](t testing.TB, name string) (values map[string]T) {
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &values))
	return values
}

// dialtone_10s24 is the start of dialtone_12s: what fills a window, and its 1022 rows.
const (
	filled = "dialtone_10s24"
	longer = "dialtone_12s"
)

// signal reads samples of 16 bits.
func signal(t testing.TB, name string) []float32 {
	if name == filled {
		return signal(t, longer)[:astfeatures.WindowSamples]
	}
	data, err := os.ReadFile(filepath.Join("testdata", name+".s16le"))
	require.NoError(t, err)
	samples := make([]float32, len(data)/2)
	for i := range samples {
		samples[i] = float32(int16(binary.LittleEndian.Uint16(data[2*i:]))) / 32768
	}
	return samples
}

// logMels reads what torchaudio made of a signal, before it is normalised.
func logMels(t testing.TB, name string) []float32 {
	if name == filled {
		return logMels(t, longer)[:1022*astfeatures.Bins]
	}
	data, err := os.ReadFile(filepath.Join("testdata", name+".logmel.f32"))
	require.NoError(t, err)
	values := make([]float32, len(data)/4)
	_, err = binary.Decode(data, binary.LittleEndian, values)
	require.NoError(t, err)
	return values
}

// extracted is the features of samples, in a slice that was full of something else.
func extracted(samples []float32) []float32 {
	features := make([]float32, astfeatures.Frames*astfeatures.Bins)
	for i := range features {
		features[i] = float32(math.NaN())
	}
	astfeatures.Extract(features, samples)
	return features
}

// TestGolden: all signals come out as torchaudio has them, and nearer than the tolerance.
func TestGolden(t *testing.T) {
	others := readJSON[second](t, "ref_tjs.json")
	references := readJSON[reference](t, "ref.json")
	require.Len(t, references, 14)
	for name, want := range references {
		t.Run(name, func(t *testing.T) {
			samples, logMels := signal(t, name), logMels(t, name)
			require.Len(t, samples, want.Samples)
			require.Len(t, logMels, want.Kept*astfeatures.Bins)
			got := extracted(samples)

			var most, louder, sum float64
			least, highest := math.Inf(1), math.Inf(-1)
			for i, v := range got {
				x := float64(v)
				sum += x
				least, highest = min(least, x), max(highest, x)
				if i >= len(logMels) {
					if math.Abs(x-padding) > 1e-6 {
						t.Fatalf("row %d is padding, but has %v", i/astfeatures.Bins, x)
					}
					continue
				}
				logMel := float64(logMels[i])
				d := math.Abs(x - (logMel+4.2677393)/(2*4.5689974))
				most = max(most, d)
				if logMel > -8 {
					louder = max(louder, d)
				}
				if name == "silence_1s" || i%astfeatures.Bins == 3 {
					require.InDelta(t, silent, x, 1e-6, "row %d, column %d", i/astfeatures.Bins, i%astfeatures.Bins)
				}
			}
			t.Logf("at most %.2e from torchaudio, %.2e where the log-mel is above -8 (transformers.js: %.2e, %.2e)",
				most, louder, others[name].Most, others[name].Louder)
			assert.LessOrEqual(t, most, 2e-3)
			assert.LessOrEqual(t, louder, 5e-5)
			assert.LessOrEqual(t, most, others[name].Most+1e-6, "as near as transformers.js")
			assert.LessOrEqual(t, louder, others[name].Louder+1e-6, "as near as transformers.js")

			assert.InDelta(t, want.Mean, sum/float64(len(got)), 1e-5, "mean")
			assert.InDelta(t, want.Least, least, 1e-6, "least")
			assert.InDelta(t, want.Most, highest, 5e-5, "most")
			argmax := 0
			for m, x := range got[:astfeatures.Bins] {
				if x > got[argmax] {
					argmax = m
				}
			}
			assert.Equal(t, want.Argmax, argmax)
			for m, x := range want.First {
				assert.InDelta(t, x, got[m], 2e-3, "row 0, column %d", m)
			}
		})
	}
}

// exact is the features of a frame by the definition, without a fast transform.
func exact(samples []float32) []float64 {
	mel := func(hz float64) float64 { return 1127 * math.Log(1+hz/700) }
	var mean float64
	for _, x := range samples {
		mean += float64(x) / 400
	}
	var frame [400]float64
	for i := range frame {
		x, before := float64(samples[i])-mean, float64(samples[max(i-1, 0)])-mean
		frame[i] = (x - 0.97*before) * (0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/399))
	}
	var power [256]float64
	for k := range power {
		var re, im float64
		for i, x := range frame {
			sin, cos := math.Sincos(2 * math.Pi * float64(i*k%512) / 512)
			re, im = re+x*cos, im-x*sin
		}
		power[k] = re*re + im*im
	}
	row := make([]float64, 128)
	low, spacing := mel(20), (mel(8000)-mel(20))/129
	for m := range row {
		var sum float64
		for k, p := range power[1:] { // 0 Hz is below all bands
			distance := (mel(float64(k+1)*31.25)-low)/spacing - float64(m+1)
			sum += max(0, 1-math.Abs(distance)) * p
		}
		row[m] = (math.Log(max(sum, math.Pow(2, -23))) + 4.2677393) / (2 * 4.5689974)
	}
	return row
}

// TestDefinition: a row is what the definition says, to the last bits of a float32, and
// depends on nothing but its own frame.
func TestDefinition(t *testing.T) {
	for _, name := range []string{"chirp_1s", "noise_1s", "speech", "impulse_1s", "quiet_sine_1s", "dcsine_1s"} {
		samples := signal(t, name)
		all := extracted(samples)
		for row := 0; row*160+400 <= len(samples); row += 7 {
			frame := samples[row*160:][:400]
			got := all[row*128:][:128]
			require.Equal(t, got, extracted(frame)[:128], "%s, row %d alone", name, row)
			for m, want := range exact(frame) {
				require.InDelta(t, want, got[m], 1e-6, "%s, row %d, column %d", name, row, m)
			}
		}
	}
}

// Half a second of 1 kHz: the band in which it is stands out.
func ExampleExtract() {
	samples := make([]float32, astfeatures.SampleRate/2)
	for i := range samples {
		samples[i] = float32(0.5 * math.Sin(2*math.Pi*1000*float64(i)/astfeatures.SampleRate))
	}
	features := make([]float32, astfeatures.Frames*astfeatures.Bins)
	astfeatures.Extract(features, samples)

	row := features[:astfeatures.Bins]
	loudest := 0
	for band, x := range row {
		if x > row[loudest] {
			loudest = band
		}
	}
	fmt.Printf("band %d: %.2f\n", loudest, row[loudest])
	fmt.Printf("padding: %.2f\n", features[len(features)-1])
	// Output:
	// band 43: 1.08
	// padding: 0.47
}
