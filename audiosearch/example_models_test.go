package audiosearch_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// steady is a Scorer that gives each clip the same score.
type steady struct {
	id, family string
	score      float32
	class      sound.Class
}

func (s steady) Model(context.Context) (sound.Model, error) {
	return sound.Model{
		ID: s.id, Family: s.family, SampleRate: 8000, Window: time.Second, Hop: time.Second,
		Classes: []sound.Class{s.class},
	}, nil
}

func (s steady) Score(_ context.Context, clips [][]float32) ([]sound.Scores, error) {
	rows := make([]sound.Scores, len(clips))
	for i := range rows {
		rows[i] = sound.Scores{s.score}
	}
	return rows, nil
}

// newPlace is a store with a dataset "d" of one video, and a function that returns services
// over it, as several programs over one database have them.
func newPlace() (open func(...sound.Scorer) *audiosearch.Service, done func()) {
	ctx := context.Background()
	db, err := memory.Open(ctx, nil)
	check(err)
	dir, err := os.MkdirTemp("", "mortise")
	check(err)
	check(os.WriteFile(filepath.Join(dir, "file"), []byte("440"), 0o600))
	videos, err := folder.Open(dir)
	check(err)
	open = func(scorers ...sound.Scorer) *audiosearch.Service {
		opts := &audiosearch.Options{Scorers: scorers}
		if len(scorers) > 0 {
			opts.Media, opts.Files = beeps{}, videos
		}
		service, err := audiosearch.New(db.AudioSearch(), opts)
		check(err)
		return service
	}
	first := open()
	_, err = first.CreateDataset(ctx, "acme", "", "d")
	check(err)
	check(first.PutVideos(ctx, "acme", "", "d", audiosearch.Video{ID: "v", Path: "file"}))
	return open, func() {
		check(videos.Close())
		check(os.RemoveAll(dir))
	}
}

// show prints the best result of a search.
func show(service *audiosearch.Service, q audiosearch.Query) {
	q.Dataset, q.Limit = "d", 1
	found, err := service.Search(context.Background(), "acme", "ada", q)
	check(err)
	fmt.Printf("%s %s: %.2f\n", q.Class, q.Model, found.Results[0].Score)
}

// Two models side by side. A class belongs to the first one that predicts it.
func ExampleOptions_scorers() {
	open, done := newPlace()
	defer done()
	service := open(
		steady{id: "birds/1", family: "birds", score: 0.25, class: "Robin"},
		steady{id: "dogs/1", family: "dogs", score: 0.75, class: "Bark"},
		steady{id: "all/1", family: "all", score: 0.5, class: "Bark"},
	)
	fmt.Println(service.Classes(context.Background()))
	show(service, audiosearch.Query{Class: "Robin"})
	show(service, audiosearch.Query{Class: "Bark"})
	show(service, audiosearch.Query{Class: "Bark", Model: "all/1"})
	// Output:
	// [Robin Bark] <nil>
	// Robin : 0.25
	// Bark : 0.75
	// Bark all/1: 0.50
}

// A model gets other weights, and so another ID. The first one answers until the second one
// has scored as much, and can be brought back.
func ExampleService_UseModel() {
	ctx := context.Background()
	open, done := newPlace()
	defer done()
	before := open(steady{id: "dogs/1", family: "dogs", score: 0.25, class: "Bark"})
	show(before, audiosearch.Query{Class: "Bark"})

	after := open(steady{id: "dogs/2", family: "dogs", score: 0.75, class: "Bark"})
	show(after, audiosearch.Query{Class: "Bark"})
	_, err := after.Ingest(ctx, "acme", "", "d") // or a Worker, after the search
	check(err)
	show(after, audiosearch.Query{Class: "Bark"})

	check(after.UseModel(ctx, "acme", "", "d", "dogs/1"))
	show(after, audiosearch.Query{Class: "Bark"})
	models, err := after.Models(ctx, "acme", "d")
	check(err)
	for _, m := range models {
		fmt.Println(m.Family, m.ID, m.Current)
	}
	// Output:
	// Bark : 0.25
	// Bark : 0.25
	// Bark : 0.75
	// Bark : 0.25
	// dogs dogs/1 true
	// dogs dogs/2 false
}

// A front end that has neither scorers nor files searches what others have scored. Found says
// how many videos nobody has scored yet.
func ExampleFound() {
	ctx := context.Background()
	open, done := newPlace()
	defer done()
	_, err := open(steady{id: "dogs/1", family: "dogs", score: 0.75, class: "Bark"}).Ingest(ctx, "acme", "", "d")
	check(err)

	front := open()
	check(front.PutVideos(ctx, "acme", "", "d", audiosearch.Video{ID: "new", Path: "new.wav"}))
	found, err := front.Search(ctx, "acme", "ada", audiosearch.Query{Dataset: "d", Class: "Bark"})
	fmt.Println(len(found.Results), "results,", found.LeftOut, "video left out", err)
	// Output:
	// 3 results, 1 video left out <nil>
}
