package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/ffmpeg"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

// picture sends the picture of a keyframe.
func (p *searchPage) picture(w http.ResponseWriter, r *http.Request, who httpadapter.Principal) {
	query := r.URL.Query()
	dataset, video := query.Get("dataset"), query.Get("video")
	if !p.allowed(w, r, who, authmgmt.ActionGetResults, dataset) {
		return
	}
	ms, err := strconv.ParseInt(query.Get("at"), 10, 64)
	at := time.Duration(ms) * time.Millisecond
	v, videoErr := p.service.Video(r.Context(), who.Organization, dataset, video)
	scoring, scoringErr := p.service.Scoring(r.Context(), who.Organization, dataset, video)
	switch _, isKeyframe := slices.BinarySearch(scoring.Keyframes, at); {
	case videoErr != nil:
		p.fail(w, r, videoErr)
		return
	case scoringErr != nil || err != nil || !isKeyframe:
		p.refuse(w, r, http.StatusNotFound, "There is no such picture.")
		return
	}
	key := pictureKey{scoring.File.Digest, at}
	image, err := p.pictures.get(r.Context(), key, func(ctx context.Context) ([]byte, error) {
		name, release, err := p.files.Local(ctx, who.Organization, v.Path)
		if err != nil {
			return nil, err
		}
		defer release()
		return p.pictures.programs.Picture(ctx, name, at, pictureWidth)
	})
	if err != nil {
		if r.Context().Err() == nil {
			p.log.WarnContext(r.Context(), "search page: no picture", "organization", who.Organization, "dataset", dataset, "video", video, "error", err)
		}
		p.refuse(w, r, http.StatusNotFound, "This picture cannot be made at the moment.")
		return
	}
	h := w.Header()
	h.Set("Content-Type", http.DetectContentType(image))
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cache-Control", "private, no-cache")
	h.Set("ETag", fmt.Sprintf("%q", hex.EncodeToString(key.file[:8])+"-"+strconv.FormatInt(ms, 10)))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(image))
}

const (
	pictureWidth  = 320      // pixels
	pictureLimit  = 2        // that are made at a time: each is a program
	picturesBytes = 16 << 20 // that are kept in memory
)

// pictures makes pictures, a few at a time, and keeps the latest.
type pictures struct {
	programs *ffmpeg.Media
	slots    chan struct{}

	mu    sync.Mutex
	kept  map[pictureKey][]byte
	order []pictureKey // in which they came
	bytes int
}

// pictureKey names a picture by what is in the file, so that a file that changes has other pictures.
type pictureKey struct {
	file [32]byte
	at   time.Duration
}

func newPictures(programs *ffmpeg.Media) *pictures {
	return &pictures{programs: programs, slots: make(chan struct{}, pictureLimit), kept: make(map[pictureKey][]byte)}
}

// get returns a picture that is kept, or has it made and keeps it.
func (p *pictures) get(ctx context.Context, key pictureKey, make func(context.Context) ([]byte, error)) ([]byte, error) {
	if image, ok := p.find(key); ok {
		return image, nil
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if image, ok := p.find(key); ok { // somebody else had it made meanwhile
		return image, nil
	}
	image, err := make(ctx)
	if err == nil {
		p.keep(key, image)
	}
	return image, err
}

func (p *pictures) find(key pictureKey) ([]byte, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	image, ok := p.kept[key]
	return image, ok
}

func (p *pictures) keep(key pictureKey, image []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.kept[key]; ok {
		return
	}
	p.kept[key] = image
	p.order = append(p.order, key)
	p.bytes += len(image)
	for p.bytes > picturesBytes {
		oldest := p.order[0]
		p.order = p.order[1:]
		p.bytes -= len(p.kept[oldest])
		delete(p.kept, oldest)
	}
}
