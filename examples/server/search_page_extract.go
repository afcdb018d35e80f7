package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

// extract is something that the page makes from the file of a video, for a time in it: a
// picture or a sound. to is 0 if a request does not say it.
type extract struct {
	name string // in messages
	kept *extracts
	// Whether there is one for these times; bounds what can be asked for.
	has  func(scoring *audiosearch.Scoring, at, to time.Duration) bool
	make func(ctx context.Context, file string, at, to time.Duration) ([]byte, error)
}

// sendExtract answers with what a request asks for.
func (p *searchPage) sendExtract(w http.ResponseWriter, r *http.Request, who httpadapter.Principal, e extract) {
	query := r.URL.Query()
	dataset, video := query.Get("dataset"), query.Get("video")
	if !p.allowed(w, r, who, access.GetResults, dataset) {
		return
	}
	v, err := p.service.Video(r.Context(), who.Organization, dataset, video)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	scorings, err := p.service.Scorings(r.Context(), who.Organization, dataset, video)
	if err != nil && !errors.Is(err, audiosearch.ErrNotScored) {
		p.fail(w, r, err)
		return
	}
	at, isTime := milliseconds(query.Get("at"))
	to, isEnd := milliseconds(cmp.Or(query.Get("to"), "0"))
	which := slices.IndexFunc(scorings, func(s audiosearch.Scoring) bool { return e.has(&s, at, to) })
	if !isTime || !isEnd || which < 0 {
		p.refuse(w, r, http.StatusNotFound, "There is no such "+e.name+".")
		return
	}
	file := &scorings[which]
	key := extractKey{who.Organization, dataset, video, file.Digest, file.FileSize, file.FileTime.UnixMicro(), at, to}
	content, err := e.kept.get(r.Context(), key, func(ctx context.Context) ([]byte, error) {
		return p.cutOut(ctx, key, v.Path, e.make)
	})
	if err != nil {
		p.failExtract(w, r, key, e.name, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", http.DetectContentType(content))
	h.Set("Content-Security-Policy", "default-src 'none'; media-src 'self'; sandbox")
	h.Set("Cache-Control", "private, no-cache")
	h.Set("ETag", fmt.Sprintf("\"%s-%d-%d\"", hex.EncodeToString(key.digest[:8]), at.Milliseconds(), to.Milliseconds()))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// milliseconds reads a time in a link. What is none, or overflows, is not ok.
func milliseconds(text string) (at time.Duration, ok bool) {
	ms, err := strconv.ParseInt(text, 10, 64)
	return time.Duration(ms) * time.Millisecond, err == nil && ms >= 0 && ms <= math.MaxInt64/int64(time.Millisecond)
}

// errOtherFile: the scores are of another file than the one that is there now.
var errOtherFile = errors.New("the file is not the one that was scored")

// cutOut makes an extract of the file at a path if that is the one that was scored.
// Otherwise the extract would show something else than what was found.
func (p *searchPage) cutOut(ctx context.Context, key extractKey, path string,
	cut func(ctx context.Context, file string, at, to time.Duration) ([]byte, error)) ([]byte, error) {
	name, release, err := p.files.Local(ctx, key.organization, path)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := sameFile(name, key); err != nil {
		return nil, err
	}
	content, err := cut(ctx, name, key.at, key.to)
	// Somebody may have written to it meanwhile.
	if other := sameFile(name, key); other != nil {
		return nil, other
	}
	return content, err
}

// sameFile looks whether a file is still what it was, as far as its size and its time
// tell.
func sameFile(name string, scored extractKey) error {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return err
	case info.Size() != scored.size || info.ModTime().UnixMicro() != scored.modified:
		return errOtherFile
	}
	return nil
}

// failExtract says why there is no extract.
func (p *searchPage) failExtract(w http.ResponseWriter, r *http.Request, key extractKey, what string, err error) {
	switch {
	case errors.Is(err, errOtherFile):
		p.refuse(w, r, http.StatusConflict, "The file of this video was changed after it was searched, so there is no "+what+" of what was found. "+
			"It is looked at anew when the server starts.")
	case errors.Is(err, errCrowded):
		p.retryLater(w, r, http.StatusTooManyRequests, "You have asked for too many at once. Try again in a moment.")
	case errors.Is(err, errWaited):
		p.retryLater(w, r, http.StatusServiceUnavailable, "Others are being served at the moment. Try again in a moment.")
	default:
		if r.Context().Err() == nil {
			p.log.WarnContext(r.Context(), "search page: no "+what, "organization", key.organization, "dataset", key.dataset, "video", key.video, "error", err)
		}
		p.refuse(w, r, http.StatusNotFound, "This "+what+" cannot be made at the moment.")
	}
}
