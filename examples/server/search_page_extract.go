package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

// extract is something that the page has a program make from the file of a video, for a time in it: a picture or a sound.
type extract struct {
	name string // in messages
	kept *extracts
	has  func(scoring *audiosearch.Scoring, at time.Duration) bool // whether there is one for that time; bounds what can be asked for
	make func(ctx context.Context, file string, at time.Duration) ([]byte, error)
}

// sendExtract answers with what a request asks for.
func (p *searchPage) sendExtract(w http.ResponseWriter, r *http.Request, who httpadapter.Principal, e extract) {
	query := r.URL.Query()
	dataset, video := query.Get("dataset"), query.Get("video")
	if !p.allowed(w, r, who, authmgmt.ActionGetResults, dataset) {
		return
	}
	v, err := p.service.Video(r.Context(), who.Organization, dataset, video)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	scoring, err := p.service.Scoring(r.Context(), who.Organization, dataset, video)
	if err != nil && !errors.Is(err, audiosearch.ErrNotScored) {
		p.fail(w, r, err)
		return
	}
	ms, notNumber := strconv.ParseInt(query.Get("at"), 10, 64)
	at := time.Duration(ms) * time.Millisecond
	if err != nil || notNumber != nil || !e.has(&scoring, at) {
		p.refuse(w, r, http.StatusNotFound, "There is no such "+e.name+".")
		return
	}
	key := extractKey{scoring.File.Digest, at}
	content, err := e.kept.get(r.Context(), key, func(ctx context.Context) ([]byte, error) {
		name, release, err := p.files.Local(ctx, who.Organization, v.Path)
		if err != nil {
			return nil, err
		}
		defer release()
		return e.make(ctx, name, at)
	})
	if err != nil {
		if r.Context().Err() == nil {
			p.log.WarnContext(r.Context(), "search page: no "+e.name, "organization", who.Organization, "dataset", dataset, "video", video, "error", err)
		}
		p.refuse(w, r, http.StatusNotFound, "This "+e.name+" cannot be made at the moment.")
		return
	}
	h := w.Header()
	h.Set("Content-Type", http.DetectContentType(content))
	h.Set("Content-Security-Policy", "default-src 'none'; media-src 'self'; sandbox")
	h.Set("Cache-Control", "private, no-cache")
	h.Set("ETag", fmt.Sprintf("%q", hex.EncodeToString(key.file[:8])+"-"+strconv.FormatInt(ms, 10)))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

const (
	extractLimit  = 2        // that are made at a time: each is a program
	extractsBytes = 16 << 20 // that are kept in memory
)

// extracts has pictures or sounds made, a few at a time, and keeps the latest.
type extracts struct {
	slots chan struct{}

	mu    sync.Mutex
	kept  map[extractKey][]byte
	order []extractKey // in which they came
	bytes int
}

// extractKey names one by what is in the file, so that a file that changes has others.
type extractKey struct {
	file [32]byte
	at   time.Duration
}

func newExtracts() *extracts {
	return &extracts{slots: make(chan struct{}, extractLimit), kept: make(map[extractKey][]byte)}
}

// get returns one that is kept, or has it made and keeps it.
func (e *extracts) get(ctx context.Context, key extractKey, make func(context.Context) ([]byte, error)) ([]byte, error) {
	if content, ok := e.find(key); ok {
		return content, nil
	}
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if content, ok := e.find(key); ok { // somebody else had it made meanwhile
		return content, nil
	}
	content, err := make(ctx)
	if err == nil {
		e.keep(key, content)
	}
	return content, err
}

func (e *extracts) find(key extractKey) ([]byte, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	content, ok := e.kept[key]
	return content, ok
}

func (e *extracts) keep(key extractKey, content []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ok := e.kept[key]; ok {
		return
	}
	e.kept[key] = content
	e.order = append(e.order, key)
	e.bytes += len(content)
	for e.bytes > extractsBytes {
		oldest := e.order[0]
		e.order = e.order[1:]
		e.bytes -= len(e.kept[oldest])
		delete(e.kept, oldest)
	}
}
