package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math"
	"mime"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/excerpt"
)

// media sends the file of a video, or a range of it.
func (p *searchPage) media(w http.ResponseWriter, r *http.Request, v *visit) error {
	video, err := p.service.Video(r.Context(), v.Organization, v.values.Get("dataset"), v.values.Get("video"))
	if err != nil {
		return err
	}
	name, release, err := p.files.Local(r.Context(), v.Organization, video.Path)
	if err != nil {
		return err
	}
	defer release()
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	// Whoever saves it gets a file that is named after the video, which says nothing of
	// its path.
	saved := strings.TrimSuffix(video.ID, path.Ext(video.Path)) + path.Ext(video.Path)
	w.Header().Set("Content-Disposition", mime.FormatMediaType("inline", map[string]string{"filename": saved}))
	setMedia(w, excerpt.MediaType(video.Path))
	slow := newSlowWriter(w, p.stopping)
	defer slow.done()
	http.ServeContent(slow, r, "", info.ModTime(), file)
	return nil
}

// setMedia sets the headers of what is no page.
func setMedia(w http.ResponseWriter, mediaType string) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Security-Policy", "default-src 'none'; media-src 'self'; sandbox")
	w.Header().Set("Cache-Control", "private, no-cache")
}

// slowWriter lets an answer take as long as somebody listens: the server's limit is for
// each part of it. It ends when the server is told to end; a player asks again for what
// it lacks.
type slowWriter struct {
	http.ResponseWriter
	control  *http.ResponseController
	stopping context.Context
	done     func() bool
}

// slowWrite is how long a part of an answer may take.
const slowWrite = 2 * time.Minute

var errStopping = errors.New("the server is shutting down")

func newSlowWriter(w http.ResponseWriter, stopping context.Context) *slowWriter {
	s := &slowWriter{ResponseWriter: w, control: http.NewResponseController(w), stopping: stopping}
	// An error means that this is no connection, and there is nothing to end.
	s.done = context.AfterFunc(stopping, func() { _ = s.control.SetWriteDeadline(time.Now()) })
	return s
}

func (s *slowWriter) Write(b []byte) (int, error) {
	_ = s.control.SetWriteDeadline(time.Now().Add(slowWrite)) // as above
	if s.stopping.Err() != nil {
		return 0, errStopping
	}
	return s.ResponseWriter.Write(b)
}

// excerpt answers requests for excerpts of one kind, which what names in messages.
func (p *searchPage) excerpt(what string, maker *excerpt.Maker) siteHandler {
	return func(w http.ResponseWriter, r *http.Request, v *visit) error {
		at, to := readTime(v.values.Get("at")), readTime(cmp.Or(v.values.Get("to"), "0"))
		e, err := maker.Make(r.Context(), v.Organization, v.values.Get("dataset"), v.values.Get("video"), at, to)
		if err != nil {
			return p.noExcerpt(r, v, what, err)
		}
		setMedia(w, http.DetectContentType(e.Content))
		w.Header().Set("ETag", strconv.Quote(e.Tag))
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(e.Content))
		return nil
	}
}

// readTime reads what milliseconds wrote. What is no time, or overflows, is -1.
func readTime(text string) time.Duration {
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms < 0 || ms > math.MaxInt64/int64(time.Millisecond) {
		return -1
	}
	return time.Duration(ms) * time.Millisecond
}

// noExcerpt says why there is none.
func (p *searchPage) noExcerpt(r *http.Request, v *visit, what string, err error) error {
	switch {
	case errors.Is(err, excerpt.ErrNone):
		return &refusal{http.StatusNotFound, "There is no such " + what + "."}
	case errors.Is(err, excerpt.ErrChanged):
		return &refusal{http.StatusConflict, "The file of this video was changed after it was searched, so there is no " + what +
			" of what was found. It is looked at anew when the server starts."}
	case errors.Is(err, excerpt.ErrCrowded):
		return &refusal{http.StatusTooManyRequests, "You have asked for too many at once. Try again in a moment."}
	case errors.Is(err, excerpt.ErrWaited):
		return &refusal{http.StatusServiceUnavailable, "Others are being served at the moment. Try again in a moment."}
	case !errors.Is(err, excerpt.ErrNotMade):
		return err
	}
	if r.Context().Err() == nil {
		p.log.WarnContext(r.Context(), "search page: no "+what, "organization", v.Organization,
			"dataset", v.values.Get("dataset"), "video", v.values.Get("video"), "error", err)
	}
	return &refusal{http.StatusNotFound, "This " + what + " cannot be made at the moment."}
}
