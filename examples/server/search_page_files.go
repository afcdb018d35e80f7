package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"image/png"
	"math"
	"mime"
	"net/http"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/audiosearch/spectrogram"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
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

// unplayed are the kinds of files that no usual browser plays. If another one is not
// played, the script of the page notices.
var unplayed = []string{".aif", ".aiff", ".asf", ".avi", ".flv", ".m2ts", ".mpeg", ".mpg", ".mts", ".mxf", ".ts", ".wma", ".wmv"}

func isUnplayed(file string) bool { return slices.Contains(unplayed, strings.ToLower(path.Ext(file))) }

// asked is the video that a request names, if the visitor may see what was found in it.
func (p *searchPage) asked(r *http.Request, who httpadapter.Principal) (v audiosearch.Video, err error) {
	query := r.URL.Query()
	if err := may(who, access.GetResults, query.Get("dataset")); err != nil {
		return v, err
	}
	return p.service.Video(r.Context(), who.Organization, query.Get("dataset"), query.Get("video"))
}

// media sends the file of a video, or a range of it.
func (p *searchPage) media(w http.ResponseWriter, r *http.Request, who httpadapter.Principal) error {
	v, err := p.asked(r, who)
	if err != nil {
		return err
	}
	name, release, err := p.files.Local(r.Context(), who.Organization, v.Path)
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
	saved := strings.TrimSuffix(v.ID, path.Ext(v.Path)) + path.Ext(v.Path)
	w.Header().Set("Content-Disposition", mime.FormatMediaType("inline", map[string]string{"filename": saved}))
	setMedia(w, mediaType(v.Path))
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

// extract answers requests for extracts of one kind.
func (p *searchPage) extract(e *extracts) func(http.ResponseWriter, *http.Request, httpadapter.Principal) error {
	return func(w http.ResponseWriter, r *http.Request, who httpadapter.Principal) error {
		v, err := p.asked(r, who)
		if err != nil {
			return err
		}
		query := r.URL.Query()
		dataset := query.Get("dataset")
		scorings, err := p.service.Scorings(r.Context(), who.Organization, dataset, v.ID)
		if err != nil && !errors.Is(err, audiosearch.ErrNotScored) {
			return err
		}
		at, isTime := milliseconds(query.Get("at"))
		to, isEnd := milliseconds(cmp.Or(query.Get("to"), "0"))
		which := slices.IndexFunc(scorings, func(s audiosearch.Scoring) bool { return e.has(&s, at, to) })
		if !isTime || !isEnd || which < 0 {
			return &refusal{http.StatusNotFound, "There is no such " + e.name + "."}
		}
		file := &scorings[which]
		key := extractKey{who.Organization, dataset, v.ID, file.Digest, file.FileSize, file.FileTime.UnixMicro(), at, to}
		content, err := e.get(r.Context(), key, func(ctx context.Context) ([]byte, error) { return p.cutOut(ctx, key, v.Path, e.cut) })
		if err != nil {
			return p.noExtract(r.Context(), key, e.name, err)
		}
		setMedia(w, http.DetectContentType(content))
		w.Header().Set("ETag", fmt.Sprintf("\"%s-%d-%d\"", hex.EncodeToString(key.digest[:8]), at.Milliseconds(), to.Milliseconds()))
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
		return nil
	}
}

// milliseconds reads a time in a link. What is none, or overflows, is not ok.
func milliseconds(text string) (at time.Duration, ok bool) {
	ms, err := strconv.ParseInt(text, 10, 64)
	return time.Duration(ms) * time.Millisecond, err == nil && ms >= 0 && ms <= math.MaxInt64/int64(time.Millisecond)
}

// errOtherFile: the scores are of another file than the one that is there now.
var errOtherFile = errors.New("the file is not the one that was scored")

// cutOut makes an extract of the file at a path if that is the one that was scored, as far
// as its size and its time tell. Otherwise the extract would show something else than what
// was found.
func (p *searchPage) cutOut(ctx context.Context, key extractKey, path string, cut cutter) ([]byte, error) {
	name, release, err := p.files.Local(ctx, key.organization, path)
	if err != nil {
		return nil, err
	}
	defer release()
	same := func() error {
		info, err := os.Stat(name)
		if err == nil && (info.Size() != key.size || info.ModTime().UnixMicro() != key.modified) {
			err = errOtherFile
		}
		return err
	}
	if err := same(); err != nil {
		return nil, err
	}
	content, err := cut(ctx, name, key.at, key.to)
	if other := same(); other != nil { // somebody has written to it meanwhile
		return nil, other
	}
	return content, err
}

// noExtract says why there is none.
func (p *searchPage) noExtract(ctx context.Context, key extractKey, what string, err error) error {
	switch {
	case errors.Is(err, errOtherFile):
		return &refusal{http.StatusConflict, "The file of this video was changed after it was searched, so there is no " + what +
			" of what was found. It is looked at anew when the server starts."}
	case errors.Is(err, errCrowded):
		return &refusal{http.StatusTooManyRequests, "You have asked for too many at once. Try again in a moment."}
	case errors.Is(err, errWaited):
		return &refusal{http.StatusServiceUnavailable, "Others are being served at the moment. Try again in a moment."}
	}
	if ctx.Err() == nil {
		p.log.WarnContext(ctx, "search page: no "+what, "organization", key.organization, "dataset", key.dataset, "video", key.video, "error", err)
	}
	return &refusal{http.StatusNotFound, "This " + what + " cannot be made at the moment."}
}

const pictureWidth = 320 // pixels

// hasPicture reports whether there is the picture of a keyframe.
func hasPicture(scoring *audiosearch.Scoring, at, _ time.Duration) bool {
	_, isKeyframe := slices.BinarySearch(scoring.Keyframes, at)
	return scoring.HasVideo && isKeyframe
}

// isSegment reports whether a segment begins at that time.
func isSegment(scoring *audiosearch.Scoring, at, _ time.Duration) bool {
	i := segmentAt(scoring, at)
	start, _ := scoring.Span(int(i))
	return i >= 0 && start == at
}

// isWholeSegment reports whether a segment begins and ends at those times.
func isWholeSegment(scoring *audiosearch.Scoring, at, to time.Duration) bool {
	_, end := scoring.Span(int(segmentAt(scoring, at)))
	return isSegment(scoring, at, to) && end == to
}

// segmentAt is the segment that begins at a time, if any does: as near as the rounding to
// milliseconds leaves it. -1 is none.
func segmentAt(scoring *audiosearch.Scoring, at time.Duration) time.Duration {
	if at < 0 || scoring.Hop <= 0 {
		return -1
	}
	if i := (at + scoring.Hop/2) / scoring.Hop; i < time.Duration(scoring.Windows) {
		return i
	}
	return -1
}

// Browsers do not play all that can be searched. For what they do not play there is the
// sound of a place, as WAV.
const (
	soundLength = 30 * time.Second
	soundRate   = 24000            // Hz
	soundLimit  = 30 * time.Second // for the decoding of all that is before the place
)

// cutSound returns the sound of a file from a time on, as a WAV file.
func (p *searchPage) cutSound(ctx context.Context, file string, at, _ time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, soundLimit)
	defer cancel()
	part, err := p.samples(ctx, file, soundRate, at, at+soundLength)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = wav.Encode(&b, soundRate, part)
	return b.Bytes(), err
}

// What the picture of a sound shows.
const (
	drawnMost   = 60 * time.Second // of a segment
	drawnAround = 5 * time.Second  // before and after it, at most
)

// drawSpectrogram returns the picture of a segment as PNG, with a little of what is before and
// after it.
func (p *searchPage) drawSpectrogram(ctx context.Context, file string, at, to time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, soundLimit)
	defer cancel()
	to = min(to, at+drawnMost)
	around := min(max((to-at)/4, time.Second/2), drawnAround)
	first := max(at-around, 0)
	samples, err := p.samples(ctx, file, spectrogram.Rate, first, to+around)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = png.Encode(&b, spectrogram.Draw(samples, at-first, to-first))
	return b.Bytes(), err
}

// samples decodes a part of the sound of a file. The sound may end before the part does.
func (p *searchPage) samples(ctx context.Context, file string, rate int, from, to time.Duration) ([]float32, error) {
	skip, length := int(from.Seconds()*float64(rate)), int((to-from).Seconds()*float64(rate))
	var part []float32
	for block, err := range p.decoder.PCM(ctx, file, rate) {
		if errors.Is(err, sound.ErrIncomplete) {
			break // what is there counts
		}
		if err != nil {
			return nil, err
		}
		skipped := min(skip, len(block))
		skip -= skipped
		part = append(part, block[skipped:]...)
		if len(part) >= length {
			part = part[:length]
			break
		}
	}
	if len(part) == 0 {
		return nil, errors.New("the sound ends before")
	}
	return part, nil
}
