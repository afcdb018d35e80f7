package audiosearch

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-6363c74e/mortise/internal/hook"
)

// VideoProblem says why a video cannot be searched, or not all of it.
type VideoProblem struct {
	Video   string // its ID
	Message string // what to do; names no folder of the machine
	Partly  bool   // what is there of its sound is searched
}

// videoError is a failure that concerns one video: others go on. Anything else concerns the service.
type videoError struct {
	err     error
	lasting bool // until the file changes
	partly  bool // there are scores all the same
	old     bool // with partly: the scores were there before
}

func (e *videoError) Error() string { return videoMessage(e.err) }
func (e *videoError) Unwrap() error { return e.err }

// maxVideoMessage bounds what is said of one video, in bytes.
const maxVideoMessage = 300

// videoMessage is one line of bounded length.
func videoMessage(err error) string {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(err.Error(), "\uFFFD")), " ")
	text = strings.TrimPrefix(text, "audiosearch: ")
	if len(text) <= maxVideoMessage {
		return text
	}
	cut := maxVideoMessage
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "..."
}

// outcome is what came of looking at a video.
type outcome struct {
	unchanged bool // its scores are those of its file already
	conflict  bool // it was changed or deleted meanwhile
}

// ensure has a video scored by the model, unless its scores are those of its file, and waits for it. The error is a *videoError, or one of the service.
func (s *Service) ensure(ctx context.Context, org, dataset string, v Video, m Model) (outcome, error) {
	if s.opts.Media == nil {
		return outcome{}, s.known(ctx, org, dataset, v.ID, m.ID)
	}
	var out outcome
	key := flightKey{org, dataset, v.ID, v.Path, m.ID}
	err := s.flights.do(ctx, key, func(ctx context.Context) error {
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		start := time.Now()
		in := &ingestion{service: s, org: org, dataset: dataset, video: v, model: m}
		err := watched(ctx, s.opts.Open, s.opts.Grace, in.panicked(ctx), in.run)
		if errors.Is(err, errStalled) && !in.scoring.Load() {
			err = &videoError{err: errors.New("reading it showed no progress for too long: look at the file and where it is stored")}
		}
		var panicked *hook.PanicError
		if errors.As(err, &panicked) && !in.scoring.Load() {
			err = &videoError{err: errors.New("it broke the program that reads it: convert it, and ask the operator to look at the log")}
		}
		in.observe(ctx, err, time.Since(start))
		return err
	})
	switch {
	case err == nil:
	case errors.Is(err, errUnchanged):
		out.unchanged, err = true, nil
	case errors.Is(err, ErrConflict):
		out.conflict, err = true, nil
	case ctx.Err() == nil:
		var problem *videoError
		if !errors.As(err, &problem) {
			err = unavailable("score a video", err)
		}
	}
	return out, err
}

// known says what a service without Media knows of a video that is not wholly scored.
func (s *Service) known(ctx context.Context, org, dataset, video, model string) error {
	stored, err := s.store.Scoring(ctx, org, dataset, video, model)
	switch {
	case errors.Is(err, ErrNotScored):
		return &videoError{err: errors.New("it is not scored yet, and this service scores none: have it scored by one that does")}
	case err != nil:
		return unavailable("read a scoring", err)
	case stored.Problem == "": // scored in this moment
		return nil
	}
	return unchanged(&stored)
}

var errUnchanged = errors.New("audiosearch: the scores are those of the file")

func (in *ingestion) observe(ctx context.Context, err error, took time.Duration) {
	if errors.Is(err, errAbandoned) {
		return
	}
	o := Observation{Kind: KindIngested, Organization: in.org, Dataset: in.dataset, Video: in.video.ID, Position: in.position(), Duration: took}
	var problem *videoError
	switch {
	case err == nil:
		o.Length = o.Position
	case errors.Is(err, errUnchanged):
		o.Kind = KindUnchanged
	case errors.As(err, &problem) && problem.old:
		o.Kind, o.Err = KindUnchanged, err
	case errors.As(err, &problem) && problem.partly:
		o.Length, o.Err = o.Position, err
	default:
		o.Kind, o.Err = KindNotIngested, err
	}
	in.service.observe(ctx, o)
}
