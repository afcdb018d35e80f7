package embed

import (
	"context"
	"errors"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/ffmpeg"
	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/signal"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// addSounds adds a search for sounds in the recordings of a folder to the host, under
// /sounds. The host runs the worker, and closes the folder after it has ended.
func addSounds(ctx context.Context, r chi.Router, videos *folder.Folder) (*audiosearch.Service, *audiosearch.Worker, error) {
	db, err := memory.Open(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	others, ffmpegErr := ffmpeg.New(nil) // needs the programs ffmpeg and ffprobe, for everything that is no WAV file
	scorer, signalErr := signal.New(nil)
	if err := errors.Join(ffmpegErr, signalErr); err != nil {
		return nil, nil, err
	}
	policy := &moderator{sounds: []sound.Class{"Telephone dialing, DTMF"}}
	opts := &audiosearch.Options{Scorers: []sound.Scorer{scorer}, Media: sound.FirstMedia(wav.Media{}, others), Files: videos, Moderate: policy.moderate}
	service, err := audiosearch.New(db.AudioSearch(), opts)
	if err != nil {
		return nil, nil, err
	}
	policy.service = service
	worker, err := audiosearch.NewWorker(service, nil)
	if err != nil {
		return nil, nil, err
	}
	handler, err := httpadapter.NewAudioSearch(service, httpadapter.AuthenticatorFunc(listener), &httpadapter.AudioSearchOptions{Cancel: true})
	if err != nil {
		return nil, nil, err
	}
	r.Handle("/sounds/*", http.StripPrefix("/sounds", handler))
	return service, worker, nil
}

// listener says who is asking. Everybody of a tenant may search its datasets; managers
// may cancel what others began.
func listener(r *http.Request) (httpadapter.Principal, error) {
	c, ok := claimsFrom(r.Context())
	if !ok || c.Tenant == "" {
		return httpadapter.Principal{}, httpadapter.ErrUnauthenticated
	}
	role := access.Role{ID: "viewer", Resource: access.Dataset}
	if c.Manager {
		role.ID = "editor"
	}
	return httpadapter.Principal{Organization: c.Tenant, Subject: c.Subject, Access: roles.Access(role)}, nil
}
