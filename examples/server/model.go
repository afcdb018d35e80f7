package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/audioset"
	"github.com/seed-6363c74e/mortise/audiosearch/modelfile"
	"github.com/seed-6363c74e/mortise/audiosearch/oip"
	"github.com/seed-6363c74e/mortise/audiosearch/onnx"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
)

// soundModel is the model of -model or -oip. It comes before the signal scorer.
type soundModel struct {
	scorer  sound.Scorer
	classes []sound.Class // that AudioSet does not have
	close   func() error  // nil: there is nothing to close
}

// modelFolder is the name of the folder of fetched models, in the data folder.
const modelFolder = "models"

// openModel brings the model into memory, and returns nil if none was asked for. It is fetched
// first if -model is a URL, which can take minutes.
func openModel(ctx context.Context, s *settings, screen *console, log *slog.Logger) (*soundModel, error) {
	if s.oip != "" {
		remote, err := oip.New(s.oip, nil)
		if err != nil {
			return nil, usagef("-oip: %w", err)
		}
		return &soundModel{scorer: remote}, nil
	}
	if s.model == "" {
		return nil, nil
	}
	// Before a download that would be for nothing.
	library, err := onnx.Find(s.onnxruntime)
	switch {
	case err != nil && s.onnxruntime != "":
		return nil, usagef("-onnxruntime: %w", err)
	case err != nil:
		return nil, usagef("-model needs what -onnxruntime names: %w", err)
	}
	file, err := readModel(ctx, s, screen, log)
	if err != nil {
		return nil, err
	}
	local, err := onnx.New(file.Data, &onnx.Options{Library: s.onnxruntime, Description: file.Sidecar, Threads: s.onnxThreads})
	if err != nil && file.Path != s.model {
		return nil, usagef("-model: %w; to have it fetched anew, delete %s", err, file.Path)
	} else if err != nil {
		return nil, usagef("-model: %w", err)
	}
	described, err := local.Model(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("-model: %w", err), local.Close())
	}
	m := &soundModel{scorer: local, close: local.Close}
	for _, class := range described.Classes {
		if _, ok := audioset.Index(class); !ok {
			m.classes = append(m.classes, class)
		}
	}
	log.Info("model loaded", "model", described.ID, "sha256", fmt.Sprintf("%x", file.Digest), "classes", len(described.Classes),
		"window", described.Window.String(), "hop", described.Hop.String(), "onnxruntime", library.Version)
	return m, nil
}

// readModel reads the file of -model, or fetches it. With -memory the folder does not last.
func readModel(ctx context.Context, s *settings, screen *console, log *slog.Logger) (*modelfile.File, error) {
	if !strings.Contains(s.model, "://") {
		file, err := modelfile.Open(ctx, s.model)
		return file, unusable(ctx, err)
	}
	folder := filepath.Join(s.data, modelFolder)
	if s.memory {
		var err error
		if folder, err = os.MkdirTemp("", "mortise-model-"); err != nil {
			return nil, fmt.Errorf("make a folder for the model: %w", err)
		}
		defer os.RemoveAll(folder)
	} else if err := sqlite.MakeFolder(folder, log); err != nil {
		return nil, blame("-data", err)
	}
	defer screen.show("")
	file, err := modelfile.Fetch(ctx, folder, s.model, &modelfile.Options{Progress: fetchMeter(screen, log)})
	if u, bad := url.Parse(s.model); err == nil && bad == nil && u.Fragment == "" {
		log.Info("the model's URL names no digest; with this at its end, nothing else is ever taken for it",
			"fragment", fmt.Sprintf("#sha256=%x", file.Digest))
	}
	return file, unusable(ctx, err)
}

// unusable is what is wrong with -model, for the operator unless it may pass.
func unusable(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == nil && !errors.Is(err, modelfile.ErrUnavailable) {
		return blame("-model", err)
	}
	return about("-model", err)
}

// searchable returns the values of audio_class: AudioSet's, and those of a model of its own
// besides. Nil means AudioSet's alone. What an inference server has is not known yet, and may
// change.
func (m *soundModel) searchable() []sound.Class {
	if m == nil || len(m.classes) == 0 {
		return nil
	}
	return append(audioset.Classes(), m.classes...)
}

// closeModel ends what openModel began.
func closeModel(m *soundModel, log *slog.Logger) {
	if m == nil || m.close == nil {
		return
	}
	if err := m.close(); err != nil {
		log.Error("the model cannot be closed", "error", err)
	}
}

// fetchLogged is how often it is logged how far a download is where there is no terminal.
const fetchLogged = 10 * time.Second

// fetchMeter tells how far a download is.
func fetchMeter(screen *console, log *slog.Logger) func(modelfile.Progress) {
	const megabyte = 1e6
	var logged time.Time
	return func(p modelfile.Progress) {
		if p.Trouble != nil {
			log.Warn("fetching the model is held up; trying again", "error", p.Trouble)
		}
		text := fmt.Sprintf("Fetching the model: %.1f MB", float64(p.Done)/megabyte)
		if p.Total > 0 {
			text += fmt.Sprintf(" of %.1f MB", float64(p.Total)/megabyte)
		}
		screen.show(text)
		if !screen.shows() && (time.Since(logged) >= fetchLogged || p.Done == p.Total) {
			logged = time.Now()
			log.Info("fetching the model", "bytes", p.Done, "of", p.Total)
		}
	}
}
