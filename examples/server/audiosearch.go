package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/ffmpeg"
	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/signal"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

// audioService is the audio search, its page for people, and what has the videos scored
// in the background.
type audioService struct {
	member
	service   *audiosearch.Service
	page      *searchPage
	ingestion *ingestion
	files     *mediaFolder
}

// searchRetention is how long a finished run can be asked for.
const searchRetention = 30 * 24 * time.Hour

// At shutdown a search that runs has a moment to finish. What is left of it comes again
// at the next start, without the videos that are scored.
const (
	searchDrain = 5 * time.Second
	mediaGrace  = 3 * time.Second // for the decoding and scoring of a video that was cut off to return
)

// newAudioService makes the audio search, and adds its page to the site. Its callers show
// access tokens of the credentials service.
func newAudioService(s *settings, b *backends, credentials *authmgmt.Service, pages *site, log *slog.Logger) (*audioService, error) {
	defined, scorerErr := signal.New(nil)
	programs, ffmpegErr := ffmpeg.New(nil)
	if err := errors.Join(scorerErr, ffmpegErr); err != nil {
		return nil, fmt.Errorf("make the scorer and the decoders: %w", err)
	}
	scorers := []sound.Scorer{defined}
	if b.model != nil {
		scorers = []sound.Scorer{b.model.scorer, defined}
	}
	media := sound.FirstMedia(wav.Media{}, programs)
	in := newIngestion(log)
	env := s.env(log)
	count := env.Observer
	env.Observer = func(ctx context.Context, o mortise.Observation) {
		count(ctx, o)
		in.observe(ctx, o)
	}
	service, err := audiosearch.New(b.audio, &audiosearch.Options{
		Scorers: scorers,
		Media:   media,
		Files:   b.files,
		Grace:   mediaGrace,
		Env:     env,
	})
	if err != nil {
		return nil, fmt.Errorf("make the audio search: %w", err)
	}
	worker, err := audiosearch.NewWorker(service, &audiosearch.WorkerOptions{
		Drain: searchDrain, Sweep: audiosearch.SweeperOptions{Retention: searchRetention},
	})
	if err != nil {
		return nil, fmt.Errorf("make the search worker: %w", err)
	}
	auth := httpadapter.Bearer(withDemo(s.demo.token, access.Full(), httpadapter.AccessTokens(credentials)))
	routes, err := httpadapter.NewAudioSearch(service, auth, &httpadapter.AudioSearchOptions{
		Options:  httpadapter.Options{Observer: s.meters.request, Logger: log},
		Cancel:   true,
		MinScore: true,
		Classes:  b.model.searchable(),
	})
	if err != nil {
		return nil, fmt.Errorf("mount the audio search: %w", err)
	}
	page, err := newSearchPage(pages, service, b.files, media, programs)
	if err != nil {
		return nil, err
	}
	return &audioService{member{httpadapter.Part{Name: "audiosearch", Ping: service.Ping}, routes, worker.Run}, service, page, in, b.files}, nil
}

// mediaFolder is the folder that the paths of videos are relative to.
type mediaFolder struct {
	*folder.Folder
	dir       string
	temporary bool
}

// demoMedia is the name of the folder of the demo's sounds, in the data folder.
const demoMedia = "demo-media"

// openMedia opens the folder of the provisioning document, or one of the demo's own,
// which is in the data folder, or ends with the process if everything else does.
func openMedia(s *settings) (*mediaFolder, error) {
	m := &mediaFolder{dir: filepath.Dir(s.config)}
	var err error
	switch {
	case s.config != "":
	case s.memory:
		m.temporary = true
		m.dir, err = os.MkdirTemp("", "mortise-demo-")
	default:
		m.dir = filepath.Join(s.data, demoMedia)
		err = os.MkdirAll(m.dir, 0o700) // of -postgres, no data folder is there yet
	}
	if err != nil {
		return nil, fmt.Errorf("make a folder for the demo's sounds: %w", err)
	}
	if m.Folder, err = folder.Open(m.dir); err != nil && s.config != "" {
		return nil, usagef("-config: %w", err)
	}
	return m, err
}

func (m *mediaFolder) close() error {
	err := m.Folder.Close()
	if m.temporary {
		err = errors.Join(err, os.RemoveAll(m.dir))
	}
	return err
}
