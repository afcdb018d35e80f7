package ingest_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/ingest"
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

// A program has its videos scored as it starts. So the first search need not wait for
// that.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "mortise")
	check(err)
	defer os.RemoveAll(dir)
	tone := synth.Samples(16000, 1, synth.Tones(0.2, 350, 440).For(10))
	check(wav.WriteFile(filepath.Join(dir, "call.wav"), 16000, tone))

	db, err := memory.Open(ctx, nil)
	check(err)
	files, err := folder.Open(dir)
	check(err)
	defer files.Close()
	media := wav.Media{}
	scorer, err := signal.New(nil)
	check(err)
	scoring := ingest.New(&ingest.Options{Logger: slog.New(slog.DiscardHandler)})
	service, err := audiosearch.New(db.AudioSearch(), &audiosearch.Options{
		Scorers: []sound.Scorer{scorer}, Media: media, Files: files, Env: mortise.Env{Observer: scoring.Observe},
	})
	check(err)
	_, err = service.CreateDataset(ctx, "acme", "startup", "calls")
	check(err)
	video := audiosearch.Video{ID: "1", Path: "call.wav"}
	check(service.PutVideos(ctx, "acme", "startup", "calls", video))

	// A host runs it beside its server.
	scoring.Run(ctx, service, "startup", []ingest.Dataset{{Organization: "acme", ID: "calls"}})
	scored, err := service.Scoring(ctx, "acme", "calls", "1")
	check(err)
	fmt.Println(scored.Duration)
	// Output:
	// 10s
}
