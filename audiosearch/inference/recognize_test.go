package inference

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/audioset"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

func tensor(name string, shape ...int64) Tensor { return Tensor{name, Float32, shape} }

func signature(in, out Tensor) Signature {
	return Signature{Inputs: []Tensor{in}, Outputs: []Tensor{out}}
}

// birds is a description that fits a network [any] to [batch,2].
func birds() *Description {
	return &Description{Family: "birds", SampleRate: 8000, Samples: 4000, Gives: "scores", Classes: []sound.Class{"Owl", "Crow"}}
}

func TestRecognizesKnownNetworks(t *testing.T) {
	for name, c := range map[string]struct {
		s             Signature
		family        string
		fixed, window int
		first, last   sound.Class
		classes       int
		in, out       []int64 // of three clips, or of as many as are fixed
	}{
		"the transformer": {signature(tensor("input_values", -1, 1024, 128), tensor("logits", -1, 527)),
			"ast", 0, 163840, "Speech", "Field recording", 527, []int64{3, 1024, 128}, []int64{3, 527}},
		"the transformer, all dimensions open": {signature(tensor("input_values", -1, -1, -1), tensor("logits", -1, 527)),
			"ast", 0, 163840, "Speech", "Field recording", 527, []int64{3, 1024, 128}, []int64{3, 527}},
		"the transformer, one clip": {signature(tensor("input_values", 1, 1024, 128), tensor("logits", 1, 527)),
			"ast", 1, 163840, "Speech", "Field recording", 527, []int64{1, 1024, 128}, []int64{1, 527}},
		"the transformer, four clips": {signature(tensor("input_values", 4, 1024, 128), tensor("logits", -1, 527)),
			"ast", 4, 163840, "Speech", "Field recording", 527, []int64{4, 1024, 128}, []int64{4, 527}},
		"YAMNet": {signature(tensor("waveform", 15600), tensor("scores", 1, 521)),
			"yamnet", 1, 15600, "Speech", "Field recording", 521, []int64{15600}, []int64{1, 521}},
		"YAMNet, with batches": {signature(tensor("waveform", -1, 15600), tensor("scores", -1, 521)),
			"yamnet", 0, 15600, "Speech", "Field recording", 521, []int64{3, 15600}, []int64{3, 521}},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := Recognize(c.s, nil)
			require.NoError(t, err)
			require.Equal(t, c.family, n.family)
			require.Equal(t, c.fixed, n.Fixed())
			require.Equal(t, c.window, n.window)
			require.Equal(t, n.Window()/2, n.hop, "half a window, so that all sound is in two")
			classes := n.Classes()
			require.Len(t, classes, c.classes)
			require.Equal(t, c.first, classes[0])
			require.Equal(t, c.last, classes[len(classes)-1])
			clips := max(c.fixed, 1)
			if c.fixed == 0 {
				clips = 3
			}
			require.Equal(t, c.in, n.InputShape(clips))
			require.Equal(t, c.out, n.OutputShape(clips))
			product := 1
			for _, d := range c.in {
				product *= int(d)
			}
			require.Equal(t, product, clips*n.InputSize())
		})
	}
	n, err := Recognize(signature(tensor("input_values", -1, 1024, 128), tensor("logits", -1, 527)), nil)
	require.NoError(t, err)
	require.Equal(t, 10240*time.Millisecond, n.Window())
	n, err = Recognize(signature(tensor("waveform", 15600), tensor("scores", 1, 521)), nil)
	require.NoError(t, err)
	require.Equal(t, 975*time.Millisecond, n.Window())
}

// The reference data say which of AudioSet's classes YAMNet has at which place.
func TestYAMNetClasses(t *testing.T) {
	folder := os.Getenv("MORTISE_REFERENCE_DATA")
	if folder == "" {
		t.Skip("MORTISE_REFERENCE_DATA is not set; it names the folder of the reference data")
	}
	text, err := os.ReadFile(filepath.Join(folder, "yamnet", "yamnet_to_audioset_index.json"))
	require.NoError(t, err)
	var places []int
	require.NoError(t, json.Unmarshal(text, &places))
	require.Len(t, yamnetClasses, len(places))
	for i, place := range places {
		index, ok := audioset.Index(yamnetClasses[i])
		require.True(t, ok)
		require.Equal(t, place, index, "output %d", i)
	}
}

func TestRecognizesWhatIsDescribed(t *testing.T) {
	for name, c := range map[string]struct {
		s      Signature
		change func(*Description)
		fixed  int
		window int
	}{
		"a waveform":                   {signature(tensor("x", 4000), tensor("y", 1, 2)), nil, 1, 4000},
		"a waveform, one row":          {signature(tensor("x", 4000), tensor("y", 2)), nil, 1, 4000},
		"a waveform of any length":     {signature(tensor("x", -1), tensor("y", 2)), nil, 1, 4000},
		"a batch of any size":          {signature(tensor("x", -1, -1), tensor("y", -1, 2)), nil, 0, 4000},
		"two at a time":                {signature(tensor("x", 2, 4000), tensor("y", 2, 2)), nil, 2, 4000},
		"a length only from its shape": {signature(tensor("x", -1, 500), tensor("y", -1, 2)), func(d *Description) { d.Samples = 0 }, 0, 500},
		"an output among several": {Signature{Inputs: []Tensor{tensor("x", 4000)}, Outputs: []Tensor{tensor("embedding", 1, 1024), tensor("y", 1, 2)}},
			func(d *Description) { d.Output = "y" }, 1, 4000},
		"classes of any number": {signature(tensor("x", 4000), tensor("y", -1, -1)), nil, 1, 4000},
		"a transformer of other classes": {signature(tensor("x", -1, 1024, 128), tensor("y", -1, 2)),
			func(d *Description) { d.Features, d.SampleRate, d.Samples = "ast", 0, 0 }, 0, 163840},
		"a transformer that gives scores": {signature(tensor("input_values", -1, 1024, 128), tensor("logits", -1, 527)),
			func(d *Description) {
				d.Features, d.SampleRate, d.Samples, d.Classes = "ast", 0, 0, audioset.Classes()
			}, 0, 163840},
	} {
		t.Run(name, func(t *testing.T) {
			d := birds()
			if c.change != nil {
				c.change(d)
			}
			n, err := Recognize(c.s, d)
			require.NoError(t, err)
			require.Equal(t, c.fixed, n.Fixed())
			require.Equal(t, c.window, n.window)
			require.Equal(t, d.Classes, n.Classes())
			require.Equal(t, "birds", n.family)
			require.False(t, n.logits)
		})
	}
}

func TestRefusesOtherNetworks(t *testing.T) {
	described := func(change func(*Description)) *Description {
		d := birds()
		change(d)
		return d
	}
	fp16 := tensor("input_values", -1, 1024, 128)
	fp16.Type = "FP16"
	good := signature(tensor("x", 4000), tensor("y", 1, 2))
	for name, c := range map[string]struct {
		s    Signature
		d    *Description
		says string
	}{
		"nothing at all":            {Signature{}, nil, "it takes and gives nothing to nothing"},
		"another shape":             {signature(tensor("x", 1, 3, 224, 224), tensor("y", 1, 1000)), nil, "x FP32 [1,3,224,224] to y FP32 [1,1000]; known are input_values FP32 [batch,1024,128]"},
		"other names":               {signature(tensor("features", -1, 1024, 128), tensor("probabilities", -1, 527)), nil, "describe how it is used"},
		"other classes":             {signature(tensor("input_values", -1, 1024, 128), tensor("logits", -1, 35)), nil, "[any,35]; known are"},
		"16-bit inputs":             {signature(fp16, tensor("logits", -1, 527)), nil, "input_values FP16 [any,1024,128] is not of type FP32"},
		"another fixed batch":       {signature(tensor("input_values", 4, 1024, 128), tensor("logits", 2, 527)), nil, "do not go together"},
		"a huge batch":              {signature(tensor("input_values", 1<<40, 1024, 128), tensor("logits", -1, 527)), nil, "at most 1024 will do"},
		"a large batch":             {signature(tensor("input_values", 1000, 1024, 128), tensor("logits", -1, 527)), nil, "too large"},
		"two inputs":                {Signature{Inputs: []Tensor{tensor("x", 4000), tensor("rate", 1)}, Outputs: good.Outputs}, birds(), "a network with one input is wanted"},
		"an input of another name":  {good, described(func(d *Description) { d.Input = "sound" }), "names sound, which is not among them"},
		"which output":              {Signature{Inputs: good.Inputs, Outputs: []Tensor{tensor("a", 2), tensor("b", 2)}}, birds(), `name one as "output"`},
		"another length":            {signature(tensor("x", 5000), tensor("y", 2)), birds(), "the description says 4000 samples: correct"},
		"no length":                 {signature(tensor("x", -1), tensor("y", 2)), described(func(d *Description) { d.Samples = 0 }), "how many samples a window has"},
		"a scalar":                  {signature(tensor("x"), tensor("y", 2)), birds(), "a waveform is [samples]"},
		"a picture":                 {signature(tensor("x", 1, 64, 64), tensor("y", 2)), birds(), "a waveform is [samples]"},
		"an empty batch":            {signature(tensor("x", 0, 4000), tensor("y", 0, 2)), birds(), "a waveform is [samples]"},
		"an empty batch of answers": {signature(tensor("x", -1, 4000), tensor("y", 0, 2)), birds(), "[batch,2] is wanted"},
		"an empty AST":              {signature(tensor("input_values", -1, 1024, 128), tensor("logits", 0, 527)), nil, "known are"},
		"an empty YAMNet":           {signature(tensor("waveform", 0, 15600), tensor("scores", 0, 521)), nil, "known are"},
		"empty answers of YAMNet":   {signature(tensor("waveform", -1, 15600), tensor("scores", 0, 521)), nil, "known are"},
		"other outputs":             {signature(tensor("x", 4000), tensor("y", 1, 3)), birds(), "for the 2 classes of its description [batch,2] is wanted: list every class"},
		"no features":               {signature(tensor("x", 4000), tensor("y", 2)), described(func(d *Description) { d.Features, d.SampleRate, d.Samples = "ast", 0, 0 }), "[batch,1024,128]"},
		"no family":                 {good, described(func(d *Description) { d.Family = "" }), "family"},
		"a family with a slash":     {good, described(func(d *Description) { d.Family = "a/b" }), "without a slash"},
		"a long family":             {good, described(func(d *Description) { d.Family = strings.Repeat("f", 65) }), "at most 64 bytes"},
		"other features":            {good, described(func(d *Description) { d.Features = "mfcc" }), "features"},
		"a rate of features":        {good, described(func(d *Description) { d.Features = "ast" }), "leave them out"},
		"no rate":                   {good, described(func(d *Description) { d.SampleRate = 0 }), "sample_rate"},
		"a rate in kHz":             {good, described(func(d *Description) { d.SampleRate = 48 }), "sample_rate: 48 is not in Hz"},
		"a rate of nothing":         {good, described(func(d *Description) { d.SampleRate = 384_001 }), "100 to 384000"},
		"a long window":             {signature(tensor("x", 60_001), tensor("y", 2)), described(func(d *Description) { d.SampleRate, d.Samples = 100, 0 }), "10m0.01s; at most 10m0s"},
		"fewer than no samples":     {good, described(func(d *Description) { d.Samples = -1 }), "samples"},
		"neither logits nor scores": {good, described(func(d *Description) { d.Gives = "" }), "gives"},
		"no classes":                {good, described(func(d *Description) { d.Classes = nil }), "classes"},
		"a class twice":             {good, described(func(d *Description) { d.Classes = []sound.Class{"Owl", "Owl"} }), `"Owl" is there twice`},
		"a class without a name":    {good, described(func(d *Description) { d.Classes = []sound.Class{"Owl", ""} }), "number 2 of the list is no name"},
		"too many classes":          {good, described(func(d *Description) { d.Classes = make([]sound.Class, sound.MaxClasses+1) }), "1 to 10000"},
		"a hop over the window":     {good, described(func(d *Description) { d.Hop = time.Second }), "passed over"},
		"one sample":                {signature(tensor("x", 1), tensor("y", 2)), described(func(d *Description) { d.Samples = 1 }), "2 to"},
		"metadata that are no JSON": {Signature{Inputs: good.Inputs, Outputs: good.Outputs, Metadata: map[string]string{"mortise": "yes"}}, nil, "documented form"},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := Recognize(c.s, c.d)
			require.ErrorIs(t, err, ErrUnrecognized)
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "\n")
			require.Nil(t, n)
		})
	}
}

// Names come from a file that may be anybody's.
func TestMessagesAreShort(t *testing.T) {
	s := Signature{Inputs: []Tensor{tensor(strings.Repeat("n", 1e6), slices.Repeat([]int64{1}, 1000)...)}}
	for range 1000 {
		s.Outputs = append(s.Outputs, tensor("a\nb\x1b[2J", 1))
	}
	_, err := Recognize(s, nil)
	require.ErrorIs(t, err, ErrUnrecognized)
	require.Less(t, len(err.Error()), 1000)
	require.NotContains(t, err.Error(), "\n")
	require.NotContains(t, err.Error(), "\x1b")
}

func TestDescriptionInMetadata(t *testing.T) {
	text := `{"family":"birds","sample_rate":8000,"samples":4000,"gives":"logits","classes":["Owl","Crow"],"hop_seconds":0.1}`
	s := signature(tensor("x", -1), tensor("y", 2))
	s.Metadata = map[string]string{MetadataKey: text}
	n, err := Recognize(s, nil)
	require.NoError(t, err)
	require.True(t, n.logits)
	require.Equal(t, 100*time.Millisecond, n.hop)
	n, err = Recognize(s, birds())
	require.NoError(t, err)
	require.False(t, n.logits, "the description beside the file comes first")
}

func TestParseDescription(t *testing.T) {
	d, err := ParseDescription([]byte(`{"family":"birds","features":"","input":"x","sample_rate":32000,"samples":160000,
		"hop_seconds":2.5,"output":"y","gives":"scores","classes":["Owl","Crow"]}`))
	require.NoError(t, err)
	require.Equal(t, &Description{Family: "birds", Input: "x", SampleRate: 32000, Samples: 160000,
		Hop: 2500 * time.Millisecond, Output: "y", Gives: "scores", Classes: []sound.Class{"Owl", "Crow"}}, d)
	d, err = ParseDescription([]byte(`{"classes":"audioset"}`))
	require.NoError(t, err)
	require.Equal(t, audioset.Classes(), d.Classes)

	for text, says := range map[string]string{
		``:                                 "documented form: it is empty",
		`[]`:                               "it is of type array: write an object in braces, with the keys family",
		`{"famly":"birds"}`:                `there is no key "famly"; the keys are family, features, input, sample_rate, samples`,
		`{"family":"birds"`:                "it ends too early",
		`{"family":1}`:                     "family: a text is wanted, not a value of type number",
		`{"sample_rate":"8000"}`:           "sample_rate: a whole number is wanted, not a value of type string",
		`{"sample_rate":0.5}`:              "sample_rate: a whole number is wanted, not a value of type number 0.5",
		`{"hop_seconds":"1"}`:              "hop_seconds: a number is wanted",
		`{"classes":{}}`:                   "must be a list of names",
		`{"family":"birds",}`:              "invalid character '}'",
		`{"family":"birds"} {}`:            "goes on",
		`{"classes":"imagenet"}`:           "audioset",
		`{"classes":[1]}`:                  "documented form",
		`{"hop_seconds":-1}`:               "hop_seconds",
		`{"hop_seconds":1e300}`:            "hop_seconds",
		strings.Repeat(" ", 5<<20):         "at most",
		`{"samples":99999999999999999999}`: "documented form",
	} {
		_, err := ParseDescription([]byte(text))
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), "descriptionJSON")
	}
	_, err = ParseDescription([]byte(`{"` + strings.Repeat("k", 1000) + `":1}`))
	require.Less(t, len(err.Error()), 400)

	// The keys that the message lists are those that are read.
	for _, key := range strings.Split(descriptionKeys, ", ") {
		_, err := ParseDescription([]byte(`{"` + key + `":null}`))
		require.NoError(t, err)
	}
	require.Equal(t, reflect.TypeFor[descriptionJSON]().NumField(), strings.Count(descriptionKeys, ", ")+1)
}

// A caller may go on with what they gave, and change it.
func TestDescriptionIsTheNetworksOwn(t *testing.T) {
	d := birds()
	n, err := Recognize(signature(tensor("x", 4000), tensor("y", 2)), d)
	require.NoError(t, err)
	d.Classes[0] = "Changed"
	require.EqualValues(t, "Owl", n.Classes()[0])
}

func FuzzParseDescription(f *testing.F) {
	f.Add([]byte(`{"family":"birds","sample_rate":8000,"samples":4000,"gives":"logits","classes":["Owl"],"hop_seconds":0.1}`), int64(4000), int64(1))
	f.Add([]byte(`{"family":"b","features":"ast","gives":"scores","classes":"audioset"}`), int64(-1), int64(527))
	f.Fuzz(func(t *testing.T, text []byte, length, classes int64) {
		d, err := ParseDescription(text)
		if err != nil {
			return
		}
		for _, s := range []Signature{
			signature(tensor("x", length), tensor("y", classes)),
			signature(tensor("x", -1, length), tensor("y", -1, classes)),
			signature(tensor("x", length, 1024, 128), tensor("y", classes, int64(len(d.Classes)))),
		} {
			n, err := Recognize(s, d)
			if err != nil {
				continue
			}
			require.Positive(t, n.InputSize())
			require.Len(t, n.Classes(), n.OutputSize())
			require.Positive(t, n.Window())
			require.LessOrEqual(t, n.hop, n.Window())
		}
	})
}

// What a stranger's file says of itself is shown as far as it helps, and as text.
func TestMessagesAreText(t *testing.T) {
	long := strings.Repeat("é", 1e5)
	for name, s := range map[string]Signature{
		"a name that is cut":        signature(tensor("a"+long, 1), tensor("y", 2)),
		"a name that is no text":    signature(tensor("\xff\xfe", 1), tensor("y", 2)),
		"an unknown key":            {Metadata: map[string]string{MetadataKey: `{"a` + long + `":1}`}},
		"a number with many digits": {Metadata: map[string]string{MetadataKey: `{"family":"f","samples":` + strings.Repeat("1", 1e5) + `}`}},
	} {
		_, err := Recognize(s, nil)
		require.ErrorIs(t, err, ErrUnrecognized, name)
		require.Less(t, len(err.Error()), 1000, name)
		require.True(t, utf8.ValidString(err.Error()), name)
		require.NotContains(t, err.Error(), "\n", name)
	}
}
