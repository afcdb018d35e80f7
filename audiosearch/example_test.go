package audiosearch_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/signal"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/audiosearch/synth"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// writeTone writes a WAV file of silence with a dial tone (350 and 440 Hz) between two seconds.
func writeTone(path string, length, from, to int) {
	silent := func(seconds int) synth.Part { return synth.Tones(0).For(float64(seconds)) }
	tone := synth.Tones(0.2, 350, 440).For(float64(to - from))
	check(wav.WriteFile(path, 16000, synth.Samples(16000, 1, silent(from), tone, silent(length-to))))
}

// A folder with two recordings is searched for a dial tone: in memory, in Go, without a model file.
func Example() {
	dir, err := os.MkdirTemp("", "mortise")
	check(err)
	defer os.RemoveAll(dir)
	writeTone(filepath.Join(dir, "call.wav"), 40, 20, 30)
	writeTone(filepath.Join(dir, "quiet.wav"), 20, 0, 0)

	db, err := memory.Open(context.Background(), nil)
	check(err)
	videos, err := folder.Open(dir)
	check(err)
	defer videos.Close()
	media := wav.Media{}
	scorer, err := signal.New(nil)
	check(err)
	service, err := audiosearch.New(db.AudioSearch(), &audiosearch.Options{Scorers: []sound.Scorer{scorer}, Media: media, Files: videos})
	check(err)

	ctx := context.Background()
	_, err = service.CreateDataset(ctx, "acme", "", "calls")
	check(err)
	check(service.PutVideos(ctx, "acme", "", "calls",
		audiosearch.Video{ID: "1", Path: "call.wav", Metadata: metadata.Map{"line": metadata.Int(7)}},
		audiosearch.Video{ID: "2", Path: "quiet.wav", Metadata: metadata.Map{"line": metadata.Int(8)}},
	))
	run, err := service.Start(ctx, "acme", "ada", audiosearch.Query{
		Dataset: "calls", Class: "Dial tone", Limit: 1,
		Filters: []metadata.Filter{{Key: "line", Op: metadata.OpLess, Value: "10"}},
	})
	check(err)

	// A service runs a Worker beside its server: worker.Run(ctx). Here one step will do.
	worker, err := audiosearch.NewWorker(service, nil)
	check(err)
	_, err = worker.RunOnce(ctx)
	check(err)

	run, err = service.Results(ctx, "acme", "calls", run.ID)
	check(err)
	fmt.Println(run.State, run.Termination)
	for _, r := range run.Results {
		fmt.Println(r.VideoID, r.Path, r.Start, r.End, r.Score > 0.8)
	}
	// Output:
	// TERMINATED SUCCESS
	// 1 call.wav 20s 30s true
}

// loudness is a Scorer of one class: how loud the loudest sample of each second is.
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

// beeps is a Media whose files hold one number each: the frequency of a tone of three seconds.
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

// newService is a service over a folder of such files, with a dataset "d", until done is called.
func newService(opts audiosearch.Options, files ...string) (service *audiosearch.Service, done func()) {
	db, err := memory.Open(context.Background(), nil)
	check(err)
	dir, err := os.MkdirTemp("", "mortise")
	check(err)
	videos, err := folder.Open(dir)
	check(err)
	opts.Media, opts.Files, opts.Scorers = beeps{}, videos, []sound.Scorer{loudness{}}
	service, err = audiosearch.New(db.AudioSearch(), &opts)
	check(err)
	_, err = service.CreateDataset(context.Background(), "acme", "", "d")
	check(err)
	for i, content := range files {
		name := fmt.Sprint("file", i)
		check(os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
		check(service.PutVideos(context.Background(), "acme", "", "d", audiosearch.Video{ID: name, Path: name}))
	}
	return service, func() {
		check(videos.Close())
		check(os.RemoveAll(dir))
	}
}

// A file that cannot be read is a problem of its own, and the others are scored.
func ExampleService_Ingest() {
	service, done := newService(audiosearch.Options{}, "440", "la")
	defer done()
	ingested, err := service.Ingest(context.Background(), "acme", "", "d")
	fmt.Println(ingested.Scored, ingested.Problems, err)
	// Output:
	// 1 [{file1 the file holds no number: write one into it false}] <nil>
}

// The host says how far results are fit to be shown.
func ExampleOptions_moderate() {
	everythingIsFine := func(_ context.Context, _ string, results []audiosearch.Result) ([]float64, error) {
		return make([]float64, len(results)), nil
	}
	service, done := newService(audiosearch.Options{Moderate: everythingIsFine}, "440")
	defer done()
	found, err := service.Search(context.Background(), "acme", "ada", audiosearch.Query{Dataset: "d", Class: "Shout", Limit: 1})
	check(err)
	fmt.Println(*found.Results[0].Moderation)
	// Output:
	// 0
}

// What is heard in a stretch of a video.
func ExampleService_Top() {
	service, done := newService(audiosearch.Options{}, "440")
	defer done()
	ctx := context.Background()
	_, err := service.Ingest(ctx, "acme", "", "d")
	check(err)
	heard, err := service.Top(ctx, "acme", "d", "file0", time.Second, 2*time.Second, 3)
	fmt.Println(heard[0].Class, heard[0].Score > 0.99, err)
	// Output:
	// Shout true <nil>
}

// Progress comes as events, for a bar or for metrics.
func ExampleDetail() {
	watch := func(_ context.Context, o mortise.Observation) {
		d := o.Detail.(audiosearch.Detail)
		fmt.Println(o.Kind, o.Object, d.Position, "of", d.Length, o.Err)
	}
	service, done := newService(audiosearch.Options{Env: mortise.Env{Observer: watch}}, "440")
	defer done()
	_, err := service.Ingest(context.Background(), "acme", "", "d")
	check(err)
	_, err = service.Ingest(context.Background(), "acme", "", "d")
	check(err)
	// Output:
	// dataset_created d 0s of 0s <nil>
	// ingesting file0 0s of 3s <nil>
	// ingested file0 3s of 3s <nil>
	// unchanged file0 0s of 0s <nil>
}

// requestTracer is a Tracer that passes on the ID of a request.
type requestTracer struct{}

type requestID struct{}

func (requestTracer) Inject(ctx context.Context, carrier map[string]string) {
	if id, ok := ctx.Value(requestID{}).(string); ok {
		carrier["request"] = id
	}
}

func (requestTracer) Start(ctx context.Context, w mortise.Work, carrier map[string]string) (context.Context, func(error)) {
	fmt.Println("begin", w.Op, carrier["request"])
	return ctx, func(err error) { fmt.Println("end", w.Op, err) }
}

func ExampleOptions_tracer() {
	service, done := newService(audiosearch.Options{Env: mortise.Env{Tracer: requestTracer{}}}, "440")
	defer done()
	worker, err := audiosearch.NewWorker(service, nil)
	check(err)
	ctx := context.WithValue(context.Background(), requestID{}, "req-1")
	_, err = service.Start(ctx, "acme", "ada", audiosearch.Query{Dataset: "d", Class: "Shout"})
	check(err)
	_, err = worker.RunOnce(context.Background())
	check(err)
	// Output:
	// begin audiosearch.run req-1
	// end audiosearch.run <nil>
}

// What somebody has searched for, and what of it is still open, page by page.
func ExampleService_ListRuns() {
	service, done := newService(audiosearch.Options{}, "440")
	defer done()
	ctx := context.Background()
	for range 3 {
		run, err := service.Start(ctx, "acme", "ada", audiosearch.Query{Dataset: "d", Class: "Shout"})
		check(err)
		_, err = service.Start(ctx, "acme", "bob", audiosearch.Query{Dataset: "d", Class: "Shout"})
		check(err)
		_, err = service.Cancel(ctx, "acme", "ada", "d", run.ID)
		check(err)
	}
	q := audiosearch.RunQuery{Actor: "ada", Limit: 2}
	for {
		page, err := service.ListRuns(ctx, "acme", q)
		check(err)
		for _, r := range page.Items {
			fmt.Println(r.Actor, r.State, r.Message)
		}
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	open, err := service.ListRuns(ctx, "acme", audiosearch.RunQuery{Dataset: "d", Open: true})
	fmt.Println(len(open.Items), open.Items[0].Actor, open.Items[0].State, err)
	// Output:
	// ada TERMINATED The run was cancelled.
	// ada TERMINATED The run was cancelled.
	// ada TERMINATED The run was cancelled.
	// 3 bob QUEUED <nil>
}

// All runs that have not ended, of all people.
func ExampleService_Runs() {
	service, done := newService(audiosearch.Options{}, "440")
	defer done()
	ctx := context.Background()
	for _, who := range []mortise.Actor{"ada", "bob"} {
		_, err := service.Start(ctx, "acme", who, audiosearch.Query{Dataset: "d", Class: "Shout"})
		check(err)
	}
	n := 0
	for r, err := range service.Runs(ctx, "acme", audiosearch.RunQuery{Open: true}) {
		check(err)
		n++
		fmt.Println(r.Query.Class, r.State)
	}
	fmt.Println(n)
	// Output:
	// Shout QUEUED
	// Shout QUEUED
	// 2
}

// The videos of a dataset, on pages as a screen shows them, and all of them.
func ExampleService_ListVideos() {
	service, done := newService(audiosearch.Options{}, "440")
	defer done()
	ctx := context.Background()
	_, err := service.CreateDataset(ctx, "acme", "ada", "talks")
	check(err)
	err = service.PutVideos(ctx, "acme", "ada", "talks",
		audiosearch.Video{ID: "keynote", Path: "1.mp4"}, audiosearch.Video{ID: "closing", Path: "2.mp4"}, audiosearch.Video{ID: "panel", Path: "3.mp4"})
	check(err)
	page, err := service.ListVideos(ctx, "acme", "talks", "", 2)
	check(err)
	for _, v := range page.Items {
		fmt.Println(v.ID, v.Path)
	}
	fmt.Println("there is a next page:", page.Next != "")
	for v, err := range service.Videos(ctx, "acme", "talks") {
		check(err)
		fmt.Println(v.ID)
	}
	// Output:
	// closing 2.mp4
	// keynote 1.mp4
	// there is a next page: true
	// closing
	// keynote
	// panel
}
