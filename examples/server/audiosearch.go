package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/ffmpeg"
	"github.com/seed-6363c74e/mortise/audiosearch/signal"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

// audioService is the audio search: its Go side, its routes, its page for people, and
// what it does in the background.
type audioService struct {
	service   *audiosearch.Service
	worker    *audiosearch.Worker
	routes    *httpadapter.Handler
	page      *searchPage
	ingestion *ingestion
	files     *mediaFolder
	log       *slog.Logger
}

var _ member = (*audioService)(nil)

// searchRetention is how long a finished run can be asked for.
const searchRetention = 30 * 24 * time.Hour

// At shutdown a search that runs has a moment to finish. What is left of it comes again
// at the next start, without the videos that are scored.
const (
	searchDrain = 5 * time.Second
	mediaGrace  = 3 * time.Second // for the decoding and scoring of a video that was cut off to return
)

// newAudioService makes the audio search. Its callers show access tokens of the
// credentials service.
func newAudioService(s *settings, b *audioBackend, credentials *authmgmt.Service, log *slog.Logger) (*audioService, error) {
	defined, err := signal.New(nil)
	if err != nil {
		return nil, fmt.Errorf("make the scorer: %w", err)
	}
	sounds, err := wav.New(nil)
	if err != nil {
		return nil, fmt.Errorf("make the decoder of WAV files: %w", err)
	}
	programs, err := ffmpeg.New(nil)
	if err != nil {
		return nil, fmt.Errorf("make the decoder of other files: %w", err)
	}
	scorers := []sound.Scorer{defined}
	if b.model != nil {
		scorers = []sound.Scorer{b.model.scorer, defined}
	}
	in := newIngestion(log)
	service, err := audiosearch.New(b.Backend, &audiosearch.Options{
		Scorers:  scorers,
		Media:    sound.FirstMedia(sounds, programs),
		Files:    b.files,
		Grace:    mediaGrace,
		Observer: in.observe,
		Logger:   log,
	})
	if err != nil {
		return nil, fmt.Errorf("make the audio search: %w", err)
	}
	in.service = service
	worker, err := audiosearch.NewWorker(service, &audiosearch.WorkerOptions{
		Drain: searchDrain, Sweep: audiosearch.SweeperOptions{Retention: searchRetention},
	})
	if err != nil {
		return nil, fmt.Errorf("make the search worker: %w", err)
	}
	verify := s.demo.orTokens(credentials)
	routes, err := httpadapter.NewAudioSearch(service, httpadapter.Bearer(verify), &httpadapter.AudioSearchOptions{
		Options: httpadapter.Options{Logger: log},
		Cancel:  true,
		Classes: b.model.searchable(),
	})
	if err != nil {
		return nil, fmt.Errorf("mount the audio search: %w", err)
	}
	page, err := newSearchPage(s, service, b.files, programs, verify, log)
	if err != nil {
		return nil, err
	}
	return &audioService{service: service, worker: worker, routes: routes, page: page, ingestion: in, files: b.files, log: log}, nil
}

func (a *audioService) name() string                   { return "audiosearch" }
func (a *audioService) handler() *httpadapter.Handler  { return a.routes }
func (a *audioService) ping(ctx context.Context) error { return a.service.Ping(ctx) }

func (a *audioService) run(ctx context.Context) error {
	g, running := errgroup.WithContext(ctx)
	g.Go(func() error { return a.worker.Run(running) })
	g.Go(func() error { return a.ingestion.run(running) })
	return g.Wait()
}
