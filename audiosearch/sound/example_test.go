package sound_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// loudness is a scorer that finds loud stretches.
type loudness struct{}

func (loudness) Model(context.Context) (sound.Model, error) {
	return sound.Model{
		ID: "loudness/1", Family: "loudness", SampleRate: 8000, Window: time.Second, Hop: time.Second,
		Classes: []sound.Class{"Shout"},
	}, nil
}

func (loudness) Score(_ context.Context, clips [][]float32) ([]sound.Scores, error) {
	rows := make([]sound.Scores, len(clips))
	for i, clip := range clips {
		var most float32
		for _, sample := range clip {
			most = max(most, sample)
		}
		rows[i] = sound.Scores{min(most, 1)}
	}
	return rows, nil
}

// A scorer of your own says what it predicts and takes clips.
func ExampleScorer() {
	var scorer sound.Scorer = loudness{}
	model, err := scorer.Model(context.Background())
	check(err)
	scores, err := scorer.Score(context.Background(), [][]float32{{0, 0.5, -0.5}, {0.25}})
	fmt.Println(model.Classes, scores, err)
	// Output:
	// [Shout] [[0.5] [0.25]] <nil>
}

// A service looks at a model before it uses it. A test of a scorer can do so, too.
func ExampleModel_Check() {
	model := sound.Model{ID: "loudness/1", Family: "loudness", SampleRate: 8000, Window: time.Second, Hop: time.Minute}
	fmt.Println(model.Check())
	// Output:
	// the scorer's model is not usable: hop 1m0s; it must be 1ms at least, and at most the window
}

// remote is a model server that takes as long for two clips as for one.
type remote struct{ loudness }

func (r remote) Score(ctx context.Context, clips [][]float32) ([]sound.Scores, error) {
	fmt.Println("a request of", len(clips), "clips")
	return r.loudness.Score(ctx, clips)
}

// Two videos are scored side by side, and share the requests to the model server.
func ExampleBatching() {
	scorer := sound.Batching(remote{}, 2, 5*time.Second)
	ctx := context.Background()
	var scores [2][]sound.Scores
	var videos sync.WaitGroup
	for i, peak := range []float32{0.25, 0.5} {
		videos.Go(func() {
			var err error
			scores[i], err = scorer.Score(ctx, [][]float32{{0, peak}})
			check(err)
		})
	}
	videos.Wait()
	fmt.Println(scores)
	// Output:
	// a request of 2 clips
	// [[[0.25]] [[0.5]]]
}

// A model server that is busy says when it will not be. Whoever implements Scorer.Score
// passes that on.
func ExampleRetryAfter() {
	answer := &http.Response{Status: "429 Too Many Requests", Header: http.Header{"Retry-After": {"90"}}}
	err := errors.New("the model server answers " + answer.Status)
	if wait, bad := time.ParseDuration(answer.Header.Get("Retry-After") + "s"); bad == nil {
		err = sound.RetryAfter(err, wait)
	}
	fmt.Println(err)
	// Output:
	// the model server answers 429 Too Many Requests
}

// beeps is a Media whose files hold one number each: the frequency of a tone of three
// seconds.
type beeps struct{}

func (beeps) ID() string { return "beeps/1" }

func (beeps) Probe(context.Context, string) (sound.Info, error) {
	return sound.Info{Duration: 3 * time.Second}, nil
}

func (beeps) PCM(_ context.Context, path string, rate int) iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		text, err := os.ReadFile(path)
		if err != nil {
			yield(nil, errors.New("the file cannot be read: try again"))
			return
		}
		var frequency float64
		if _, err := fmt.Sscan(string(text), &frequency); err != nil {
			yield(nil, sound.BadMedia(errors.New("the file holds no number: write one into it")))
			return
		}
		second := make([]float32, rate)
		for range 3 {
			for i := range second {
				second[i] = float32(math.Sin(2 * math.Pi * frequency * float64(i) / float64(rate)))
			}
			if !yield(second, nil) {
				return
			}
		}
	}
}

// inFolder writes a file into a new folder.
func inFolder(name, content string) (path string, remove func()) {
	dir, err := os.MkdirTemp("", "mortise")
	check(err)
	path = filepath.Join(dir, name)
	check(os.WriteFile(path, []byte(content), 0o600))
	return path, func() { check(os.RemoveAll(dir)) }
}

// A Media of your own tells what is wrong with a file from what may be better next time.
func ExampleMedia() {
	path, remove := inFolder("tune", "la")
	defer remove()
	for _, err := range (beeps{}).PCM(context.Background(), path, 8000) {
		fmt.Println(err, errors.Is(err, sound.ErrBadMedia))
	}
	// Output:
	// the file holds no number: write one into it true
}

// Several kinds of files: each Media says which ones are not its own.
func ExampleFirstMedia() {
	wavs := wav.Media{}
	media := sound.FirstMedia(wavs, beeps{})
	path, remove := inFolder("tune", "440")
	defer remove()
	info, err := media.Probe(context.Background(), path)
	fmt.Println(info.Duration, err)
	// Output:
	// 3s <nil>
}

// Paths are relative to the folder, and cannot leave it.
func ExampleFiles() {
	path, remove := inFolder("a.wav", "...")
	defer remove()
	videos, err := folder.Open(filepath.Dir(path))
	check(err)
	defer videos.Close()
	var files sound.Files = videos
	file, release, err := files.Local(context.Background(), "acme", "a.wav")
	check(err)
	content, err := os.ReadFile(file)
	fmt.Println(string(content), err)
	release()
	_, _, err = files.Local(context.Background(), "acme", "../a.wav")
	fmt.Println(err)
	// Output:
	// ... <nil>
	// the path leads out of the folder of the videos: correct it in the catalog
}

func ExampleNearest() {
	fmt.Println(sound.Nearest("dial-tone", []sound.Class{"Busy signal", "Dial tone"}))
	// Output: Dial tone
}
