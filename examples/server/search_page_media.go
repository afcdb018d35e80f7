package main

import (
	"cmp"
	"context"
	"errors"
	"mime"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

// mediaTypes are what files are served as. Nothing else is named: a page of somebody's
// that ends in .html must not become one of ours.
var mediaTypes = map[string]string{
	".aac": "audio/aac", ".aif": "audio/aiff", ".aiff": "audio/aiff", ".flac": "audio/flac", ".m4a": "audio/mp4", ".mp3": "audio/mpeg",
	".oga": oggSound, ".ogg": oggSound, ".opus": oggSound, ".wav": "audio/wav", ".weba": "audio/webm",
	".avi": "video/x-msvideo", ".m4v": "video/mp4", ".mkv": "video/x-matroska", ".mov": "video/quicktime", ".mp4": "video/mp4",
	".mpeg": "video/mpeg", ".mpg": "video/mpeg", ".ogv": "video/ogg", ".ts": "video/mp2t", ".webm": "video/webm",
}

const oggSound = "audio/ogg"

// mediaType is what a file is served as, by its name.
func mediaType(file string) string {
	return cmp.Or(mediaTypes[strings.ToLower(path.Ext(file))], "application/octet-stream")
}

// media sends the file of a video, or a range of it.
func (p *searchPage) media(w http.ResponseWriter, r *http.Request, who httpadapter.Principal) {
	query := r.URL.Query()
	dataset := query.Get("dataset")
	if !p.allowed(w, r, who, access.GetResults, dataset) {
		return
	}
	v, err := p.service.Video(r.Context(), who.Organization, dataset, query.Get("video"))
	if err != nil {
		p.fail(w, r, err)
		return
	}
	name, release, err := p.files.Local(r.Context(), who.Organization, v.Path)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	defer release()
	file, err := os.Open(name)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		p.fail(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", mediaType(v.Path))
	// Whoever saves it gets a file that is named after the video, which says nothing of
	// its path.
	h.Set("Content-Disposition", mime.FormatMediaType("inline", map[string]string{"filename": strings.TrimSuffix(v.ID, path.Ext(v.Path)) + path.Ext(v.Path)}))
	h.Set("Content-Security-Policy", "default-src 'none'; media-src 'self'; sandbox")
	h.Set("Cache-Control", "private, no-cache")
	slow := newSlowWriter(w, p.stopping)
	defer slow.done()
	http.ServeContent(slow, r, "", info.ModTime(), file)
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
