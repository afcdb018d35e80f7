//go:build cgo

package onnx

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/inference"
	"github.com/seed-6363c74e/mortise/internal/nightly"
)

// hostilePatience is for machines that are busy, and for no model: those that never end are
// not in what it is for.
const hostilePatience = 5 * time.Minute

// requireRefusedOrScored requires of all models that they are refused in a sentence, or score
// as they say, under an ID of their own, and that no process ended at one.
func requireRefusedOrScored(t *testing.T, models files) (scored int) {
	t.Helper()
	all, at := openInProcess(t, models, hostilePatience)
	require.Empty(t, at, "processes ended")
	require.Len(t, all, len(models))
	for _, o := range all {
		if o.Error != "" {
			require.NotContains(t, o.Error, "\n", o.Name)
			require.Less(t, len(o.Error), 1200, o.Name)
			require.Regexp(t, `^(onnx|inference): \S.{10}`, o.Error, o.Name)
			continue
		}
		scored++
		require.Contains(t, o.ID, fmt.Sprintf("sha256:%x", sha256.Sum256(models[o.Name])), o.Name)
		require.Len(t, o.Scores, o.Wanted, o.Name)
		for _, x := range o.Scores {
			require.True(t, x >= 0 && x <= 1, "%s: %v", o.Name, x)
		}
	}
	return scored
}

// A folder of 200 files that were cut, changed or are of another format.
func TestFolderOfBrokenFiles(t *testing.T) {
	nightly.Only(t)
	models := files{}
	foreign(t, models)
	random := rand.New(rand.NewPCG(17, 200))
	sources := []struct {
		name  string
		model []byte
	}{{"transformer", tinyAST(t)}, {"waveform", waveform(anyLength).model(inference.MetadataKey, described)}}
	for i := 0; len(models) < 200; i++ {
		source := sources[min(i%4, 1)] // the first one takes longer
		model := bytes.Clone(source.model)
		switch i / 4 % 3 {
		case 0: // half of the cuts are near the end
			at := random.IntN(len(model))
			if i%2 == 0 {
				at = len(model) - 1 - random.IntN(200)
			}
			models[fmt.Sprintf("%s-cut-%d.onnx", source.name, at)] = model[:at]
		case 1:
			at, bit := random.IntN(len(model)), random.IntN(8)
			model[at] ^= 1 << bit
			models[fmt.Sprintf("%s-flip-%d-%d.onnx", source.name, at, bit)] = model
		case 2: // in what is not weights, and three at a time
			for range 3 {
				model[len(model)-1-random.IntN(700)] ^= 1 << random.IntN(8)
			}
			models[fmt.Sprintf("%s-end-%d.onnx", source.name, i)] = model
		}
	}
	scored := requireRefusedOrScored(t, models)
	t.Logf("%d files, of which %d score", len(models), scored)
	require.Positive(t, scored, "flipped bits of weights are no damage that can be seen")
}

// foreign adds files of other formats, and what calls itself ONNX.
func foreign(t *testing.T, models files) {
	t.Helper()
	var picture, archive, packed bytes.Buffer
	require.NoError(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 9, 9))))
	z := zip.NewWriter(&archive)
	inside, err := z.Create("model.onnx")
	require.NoError(t, err)
	model := waveform(anyLength).model(inference.MetadataKey, described)
	_, err = inside.Write(model)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	g := gzip.NewWriter(&packed)
	_, err = g.Write(model)
	require.NoError(t, err)
	require.NoError(t, g.Close())
	length := func(n uint64) []byte { return binary.AppendUvarint(nil, n) }
	deep := []byte{}
	for range 20_000 {
		deep = message(nil).bytes(7, deep)
	}
	nest := func(field int, levels int) []byte {
		m := message(nil)
		for range levels {
			m = message(nil).bytes(field, m)
		}
		return message(nil).number(1, 8).bytes(7, message(nil).bytes(11, message(nil).text(1, "x").bytes(2, m)))
	}
	for name, content := range map[string][]byte{
		"empty":        {},
		"one-byte":     {8},
		"zeros":        make([]byte, 5000),
		"ones":         bytes.Repeat([]byte{0xff}, 5000),
		"text":         []byte("This is a list of models.\n"),
		"page":         []byte("<!DOCTYPE html><html><body>Sign in</body></html>"),
		"json":         []byte(`{"error":"Repository not found"}`),
		"pointer":      []byte("version https://git-lfs.github.com/spec/v1\noid sha256:1234\nsize 17\n"),
		"png":          picture.Bytes(),
		"zip":          archive.Bytes(),
		"gzip":         packed.Bytes(),
		"tflite":       append([]byte{0x1c, 0, 0, 0, 'T', 'F', 'L', '3', 0x14, 0, 0x20, 0}, make([]byte, 400)...),
		"gguf":         append([]byte("GGUF\x03\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00"), make([]byte, 400)...),
		"safetensors":  append([]byte{60, 0, 0, 0, 0, 0, 0, 0}, `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}          `...),
		"pickle":       []byte("\x80\x02ctorch._utils\n_rebuild_tensor_v2\nq\x00."),
		"hdf5":         append([]byte("\x89HDF\r\n\x1a\n"), make([]byte, 200)...),
		"wav":          append([]byte("RIFF\x24\x00\x00\x00WAVEfmt "), make([]byte, 28)...),
		"elf":          append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 200)...),
		"person":       message(nil).text(1, "Ada").number(2, 36).bytes(3, message(nil).text(1, "London")),
		"saved-model":  message(nil).number(1, 1).bytes(2, message(nil).bytes(2, message(nil).bytes(1, message(nil).text(1, "x").text(2, "Placeholder")))),
		"deep":         deep,
		"types":        nest(4, 90),
		"types-deeper": nest(4, 5000),
		"options":      nest(9, 3000),
		"length-max":   append([]byte{7<<3 | 2}, length(1<<64-1)...),
		"length-2-63":  append([]byte{7<<3 | 2}, length(1<<63)...),
		"length-2-31":  append(append([]byte{7<<3 | 2}, length(1<<31)...), model...),
		"varint":       append([]byte{8}, bytes.Repeat([]byte{0x80}, 50)...),
		"group":        []byte{7<<3 | 3, 7<<3 | 4},
		"field-0":      {2, 1, 1},
		"two-graphs":   message(model).bytes(7, waveform(4).encode()),
		"half-graph":   message(model).bytes(7, waveform(4).encode()[:2000]),
		"names": waveform(anyLength).model(inference.MetadataKey,
			strings.Replace(described, "Owl", strings.Repeat("O", 100_000), 1)),
		"metadata": waveform(anyLength).model(inference.MetadataKey, strings.Repeat("[", 100_000)),
	} {
		models["foreign-"+name+".onnx"] = content
	}
}

// What operators are asked for, that they cannot do.
func TestOperatorsOverstrained(t *testing.T) {
	models := files{}
	overstrained(models)
	scored := requireRefusedOrScored(t, models)
	t.Logf("%d models, of which %d score", len(models), scored)
	require.Positive(t, scored)
}

// A model that never ends is refused once it has had its time.
func TestEndlessModels(t *testing.T) {
	for name, model := range endlessModels() {
		t.Run(name, func(t *testing.T) {
			text := refused(t, model, &Options{firstRun: 50 * time.Millisecond})
			require.Contains(t, text, "did not answer within 50ms in its first run")
		})
	}
}

// These end the process with ONNX Runtime 1.30, and are not refused before, since what they
// do shows only when they run. Which ones is said in the documentation of the package. A
// later version may refuse them.
func TestWhatEndsTheProcess(t *testing.T) {
	models := files{}
	fatal(models)
	all, at := openInProcess(t, models, hostilePatience)
	require.Len(t, all, len(models)-len(at))
	for _, o := range all {
		t.Logf("%s lives: %s", o.Name, o.Error)
	}
	for _, k := range at {
		t.Logf("%s ended the process: %s", k.name, k.how)
	}
}

// These would end it, too, and are refused before.
func TestRefusedBeforeTheyEndTheProcess(t *testing.T) {
	chain := func(n int) (all []message) {
		for i := range n {
			all = append(all, function(fmt.Sprint("f", i), fmt.Sprint("f", i+1)))
		}
		return append(all, function(fmt.Sprint("f", n), "Neg"))
	}
	tenfold := func(n int) (all []message) {
		for i := range n {
			all = append(all, function(fmt.Sprint("f", i), strings.Fields(strings.Repeat(fmt.Sprint(" f", i+1), 10))...))
		}
		return append(all, function(fmt.Sprint("f", n), "Neg"))
	}
	models, say := files{}, map[string]string{}
	functions := func(name, text string, all ...message) {
		models.addFunctions(name, all...)
		say[name+".onnx"] = text
	}
	functions("deep", "more than 64 deep", chain(3000)...)
	functions("itself", "calls itself", function("f0", "Neg", "f0"))
	functions("each other", "calls itself", function("f0", "f1", "Neg"), function("f1", "f0"))
	functions("tenfold", "more than 100000 nodes", tenfold(12)...)
	functions("uncalled", "more than 100000 nodes", append(tenfold(12)[1:], function("f0", "Neg"))...)
	sizes := func(name, operator string, size int64) {
		weights := []message{long("sh", -1, 1, 1, 5), floats("k", []float32{1}, 1, 1, 1, 1)}
		inputs := map[string]string{"group": "four k", "blocksize": "four"}[name]
		file := fmt.Sprintf("%s-%s-%d", operator, name, size)
		models.addWith(file, weights, op("Reshape", "s sh", "four"), op(operator, inputs, "extra", integer(name, size)))
		say[file+".onnx"] = fmt.Sprintf(`("%s") whose %s is %d`, operator, name, size)
	}
	sizes("group", "ConvTranspose", 0)
	sizes("group", "ConvTranspose", -1)
	sizes("blocksize", "DepthToSpace", 1<<40)
	sizes("blocksize", "SpaceToDepth", 1<<32)
	for name, model := range models {
		t.Run(name, func(t *testing.T) { require.Contains(t, refused(t, model, nil), say[name]) })
	}
	for name, all := range map[string][]message{"chain": chain(60), "tenfold": tenfold(3)} {
		right := files{}
		right.addFunctions(name, all...)
		s := open(t, right[name+".onnx"], nil)
		require.InDelta(t, waveformScore(tone(100), 2), float64(score(t, s, tone(100))[0][2]), 1e-5)
	}
}
