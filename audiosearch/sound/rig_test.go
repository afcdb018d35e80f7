package sound_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"os"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

var errBroken = errors.New("broken")

// twoClasses is what the model of a Scorer is here.
type twoClasses struct{}

func (twoClasses) Model(context.Context) (sound.Model, error) {
	return sound.Model{ID: "two/1", Family: "two", SampleRate: 1000, Window: 2 * time.Second, Hop: time.Second,
		Classes: []sound.Class{"Shout", "Silence"}, Batch: 3}, nil
}

// bytesMedia reads each byte of a file as a sample. A file that begins with "HUH" is of
// another format.
type bytesMedia struct{}

func (bytesMedia) read(path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if err == nil && bytes.HasPrefix(content, []byte("HUH")) {
		return nil, sound.ErrFormat
	}
	return content, err
}

func (bytesMedia) ID() string { return "bytes/1" }

func (m bytesMedia) Probe(_ context.Context, path string) (sound.Info, error) {
	_, err := m.read(path)
	return sound.Info{}, err
}

func (m bytesMedia) PCM(_ context.Context, path string, _ int) iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		content, err := m.read(path)
		if err != nil {
			yield(nil, err)
			return
		}
		yield(make([]float32, len(content)), nil)
	}
}
