package audiosearchtest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/audiosearchtest"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// dog is one of AudioSet's classes.
const dog sound.Class = "Dog"

// park is a dataset of one video, in which a dog is heard from the fourth second on.
func park(t testing.TB) *audiosearchtest.Fake {
	f := audiosearchtest.New(t, &audiosearchtest.Options{Tapes: map[string]audiosearchtest.Tape{
		"park.mp4": {Heard: map[sound.Class][]float64{dog: {0, 0.2, 0.8, 0.6}}, Keyframes: []time.Duration{0, 5 * time.Second}},
	}})
	ctx := context.Background()
	if _, err := f.CreateDataset(ctx, "acme", "", "walks"); err != nil {
		panic(err)
	}
	video := audiosearch.Video{ID: "park", Path: "park.mp4", Metadata: metadata.Map{"town": metadata.String("Ulm")}}
	if err := f.PutVideos(ctx, "acme", "", "walks", video); err != nil {
		panic(err)
	}
	return f
}

func ExampleNew() {
	t := new(testing.T) // a test has its own

	f := park(t)
	ctx := context.Background()
	run, err := f.Start(ctx, "acme", "ada", audiosearch.Query{
		Dataset: "walks", Class: dog, Limit: 2, Filters: []metadata.Filter{{Key: "town", Value: "Ulm"}},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(run.State)
	f.Drain(ctx)
	if run, err = f.Results(ctx, "acme", "walks", run.ID); err != nil {
		panic(err)
	}
	fmt.Println(run.State, run.Termination)
	for _, r := range run.Results {
		fmt.Printf("%s %v to %v: %.1f, picture at %v\n", r.VideoID, r.Start, r.End, r.Score, r.Keyframe.At)
	}
	for _, e := range f.Observations() {
		fmt.Print(e.Kind, " ")
	}
	// Output:
	// QUEUED
	// TERMINATED SUCCESS
	// park 4s to 14s: 0.8, picture at 5s
	// park 6s to 16s: 0.6, picture at 5s
	// dataset_created submitted started ingesting ingested terminated
}

func ExampleFake_Break() {
	t := new(testing.T) // a test has its own

	f := park(t)
	ctx := context.Background()
	run, err := f.Start(ctx, "acme", "ada", audiosearch.Query{Dataset: "walks", Class: dog})
	if err != nil {
		panic(err)
	}
	heal := f.Break(audiosearchtest.ScorerPart)
	for range 2 {
		f.Drain(ctx)
		if run, err = f.Run(ctx, "acme", "walks", run.ID); err != nil {
			panic(err)
		}
		fmt.Println(run.State, run.Attempts)
		heal()
		f.Advance(time.Second) // the wait before the next attempt
	}
	// Output:
	// QUEUED 1
	// TERMINATED 2
}

func ExampleSounds() {
	t := new(testing.T) // a test has its own

	f := park(t)
	ctx := context.Background()
	search := func() {
		if _, err := f.Ingest(ctx, "acme", "", "walks"); err != nil {
			panic(err)
		}
		found, err := f.Search(ctx, "acme", "ada", audiosearch.Query{Dataset: "walks", Class: dog, Limit: 1, MinScore: 0.5})
		if err != nil {
			panic(err)
		}
		for _, r := range found.Results {
			fmt.Printf("%s at %v: %.2f\n", r.VideoID, r.Start, r.Score)
		}
		for _, p := range found.Problems {
			fmt.Println(p.Video, "-", p.Message)
		}
	}
	search()
	// The file changes:
	f.Sounds.Record("park.mp4", audiosearchtest.Tape{Heard: map[sound.Class][]float64{dog: {0.9}}})
	search()
	f.Sounds.Record("park.mp4", audiosearchtest.Tape{Err: sound.BadMedia(errors.New("the file is cut off: upload it again"))})
	search()
	// Output:
	// park at 4s: 0.80
	// park at 0s: 0.90
	// park - the file is cut off: upload it again
}

func ExampleFaults() {
	t := new(testing.T) // a test has its own

	// Every second batch of clips fails.
	n := 0
	faults := &audiosearchtest.Faults{Before: audiosearchtest.On(func(string) error {
		if n++; n%2 == 0 {
			return audiosearchtest.ErrInjected
		}
		return nil
	}, "Scorer.Score")}
	f := audiosearchtest.New(t, &audiosearchtest.Options{Service: audiosearch.Options{
		Scorers: []sound.Scorer{faults.Scorer(new(audiosearchtest.Sounds))},
	}})
	classes, err := f.Classes(context.Background())
	fmt.Println(len(classes), err)
	// Output:
	// 527 <nil>
}

func ExampleOutage() {
	hook, heal := audiosearchtest.Outage()
	fmt.Println(hook("Store.Search"))
	heal()
	fmt.Println(hook("Store.Search"))
	// Output:
	// audiosearchtest: injected failure
	// <nil>
}

func ExampleSometimes() {
	hook := audiosearchtest.Sometimes(0.5, 42)
	failed := 0
	for range 1000 {
		if hook("Store.Search") != nil {
			failed++
		}
	}
	fmt.Println(failed > 400 && failed < 600)
	// Output: true
}
