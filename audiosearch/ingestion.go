package audiosearch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/seed-6363c74e/mortise/internal/hook"
)

// ingestion is the scoring of one video.
type ingestion struct {
	service      *Service
	org, dataset string
	video        Video
	model        Model

	scoring atomic.Bool  // the scorer is at work: what takes long now is its fault
	samples atomic.Int64 // decoded

	info     Info
	reported time.Time // of the latest progress
}

func (in *ingestion) position() time.Duration { return in.model.duration(in.samples.Load()) }

// scorerHook is what a panic of a Scorer is logged as.
const scorerHook = "the scorer"

// panicked returns what a panic becomes: of the scorer, or else of what reads the file.
func (in *ingestion) panicked(ctx context.Context) func(p any) error {
	return func(p any) error {
		name := "the media"
		if in.scoring.Load() {
			name = scorerHook
		}
		return hook.Panicked(ctx, in.service.opts.Logger, name, p, "organization", in.org, "dataset", in.dataset, "video", in.video.ID)
	}
}

// run scores the video and stores what came of it. It returns errUnchanged if there was nothing to do.
func (in *ingestion) run(ctx context.Context, beat func(time.Duration)) error {
	// A file that is being written is read again a few times: it may be complete by then.
	const tries = 3
	for try := 1; ; try++ {
		if err := in.once(ctx, beat); !errors.Is(err, errChanged) || try == tries {
			return err
		}
	}
}

// once is one try of run.
func (in *ingestion) once(ctx context.Context, beat func(time.Duration)) error {
	in.scoring.Store(false)
	beat(in.service.opts.Open)
	file, release, err := in.service.opts.Files.Local(ctx, in.org, in.video.Path)
	if err != nil {
		return in.mediaError(ctx, err)
	}
	defer func() {
		defer hook.Recover(ctx, in.service.opts.Logger, "the files", nil, "video", in.video.ID)
		release()
	}()
	beat(in.service.opts.Stall)
	return in.file(ctx, file, beat)
}

// errModelChanged: what was scored was scored by nobody knows which of two.
var errModelChanged = fmt.Errorf("%w: the scorer's model changed meanwhile: try again", ErrUnavailable)

// file is run with the local file at hand.
func (in *ingestion) file(ctx context.Context, file string, beat func(time.Duration)) error {
	s := in.service
	before, err := statFile(file)
	if err != nil {
		return err
	}
	in.scoring.Store(true)
	stored, err := s.store.Scoring(ctx, in.org, in.dataset, in.video.ID, in.model.ID)
	known := err == nil
	if err != nil && !errors.Is(err, ErrNotScored) {
		return unavailable("read a scoring", err)
	}
	in.scoring.Store(false)
	if known && stored.File.sameStat(before) {
		return unchanged(&stored)
	}
	// A kind of file that nobody reads is not worth the reading of it all.
	beat(s.opts.Open)
	info, probeErr := s.opts.Media.Probe(ctx, file)
	beat(s.opts.Stall)
	var problem *videoError
	if probeErr != nil {
		if probeErr = in.mediaError(ctx, probeErr); !errors.As(probeErr, &problem) || !problem.lasting {
			return probeErr
		}
	}
	if before.Digest, err = digestFile(ctx, file, func() { beat(s.opts.Stall) }); err != nil {
		return err
	}
	if known && stored.File.Size == before.Size && stored.File.Digest == before.Digest {
		return unchanged(&stored)
	}

	in.info = info
	var scoring Scoring
	var columns [][]uint16
	if err = probeErr; err == nil {
		scoring, columns, err = in.score(ctx, file, beat)
	}
	switch {
	case errors.As(err, &problem) && problem.partly:
		scoring.Problem = problem.Error()
	case errors.As(err, &problem) && problem.lasting:
		scoring, columns = Scoring{Problem: problem.Error()}, nil
	case err != nil:
		return err
	}
	in.scoring.Store(true) // from here on the scorer and the store are to blame, not the file
	if now, modelErr := s.model(ctx); modelErr != nil {
		return modelErr
	} else if now.ID != in.model.ID {
		return errModelChanged
	}
	if files, ok := s.opts.Files.(SameFiles); ok {
		in.scoring.Store(false)
		if !files.Same(in.org, in.video.Path, file) {
			return &videoError{err: errChanged}
		}
		in.scoring.Store(true)
	}
	if after, statErr := statFile(file); statErr != nil {
		return statErr
	} else if !after.sameStat(before) {
		return &videoError{err: errChanged}
	}
	scoring.Model, scoring.File, scoring.At = in.model.ID, before, s.now()
	if putErr := s.store.PutScoring(ctx, in.org, in.dataset, in.video.ID, in.video.Path, scoring, columns); putErr != nil {
		return unavailable("store scores", putErr)
	}
	return err
}

func unchanged(stored *Scoring) error {
	if stored.Problem != "" {
		return &videoError{err: errors.New(stored.Problem), lasting: true, partly: stored.Scored(), old: stored.Scored()}
	}
	return errUnchanged
}

// score decodes the file and has it scored. With a videoError that is partly, there are scores as well.
func (in *ingestion) score(ctx context.Context, file string, beat func(time.Duration)) (Scoring, [][]uint16, error) {
	s := in.service
	if in.info.Duration > s.opts.MaxDuration {
		return Scoring{}, nil, in.tooLong()
	}
	in.samples.Store(0)
	scores := newCollector(len(in.model.Classes))
	segments := newSegmenter(in.model, func(ctx context.Context, clips [][]float32) error {
		in.scoring.Store(true)
		rows, err := s.scorer.Score(ctx, clips)
		if err == nil {
			err = scores.add(rows, len(clips))
		}
		if err != nil {
			return &scorerError{err}
		}
		in.scoring.Store(false)
		beat(s.opts.Stall)
		return nil
	})
	var incomplete error
	for block, err := range s.opts.Media.PCM(ctx, file, in.model.SampleRate) {
		if errors.Is(err, ErrIncomplete) && segments.total > 0 {
			incomplete = &videoError{err: err, lasting: true, partly: true}
			break
		}
		if err != nil {
			return Scoring{}, nil, in.mediaError(ctx, err)
		}
		if len(block) > 0 { // or else it is no progress
			beat(s.opts.Stall)
		}
		for _, x := range block {
			if x-x != 0 { // NaN or infinite
				return Scoring{}, nil, &videoError{err: errors.New("its sound has samples that are no numbers: make it again"), lasting: true}
			}
		}
		if err := segments.add(ctx, block); err != nil {
			return Scoring{}, nil, err
		}
		in.samples.Store(segments.total)
		if in.position() > s.opts.MaxDuration {
			return Scoring{}, nil, in.tooLong()
		}
		in.progress(ctx)
		if err := ctx.Err(); err != nil {
			return Scoring{}, nil, context.Cause(ctx)
		}
	}
	if ctx.Err() != nil { // a Media may end without a word then
		return Scoring{}, nil, context.Cause(ctx)
	}
	if err := segments.finish(ctx); err != nil {
		return Scoring{}, nil, err
	}
	if segments.scored == 0 {
		return Scoring{}, nil, &videoError{err: errors.New("the file has no sound: leave it out, or give it a sound track"), lasting: true}
	}
	return in.scored(segments), scores.columns, incomplete
}

// scored describes what was scored, but for what file() adds.
func (in *ingestion) scored(g *segmenter) Scoring {
	// Spans are told from whole samples, so that they cannot drift from what was scored.
	scoring := Scoring{
		Duration: max(in.model.duration(g.total).Round(time.Millisecond), time.Millisecond),
		Window:   in.model.duration(int64(g.window)),
		Hop:      in.model.duration(int64(g.hop)),
		Windows:  g.scored,
		HasVideo: in.info.HasVideo && len(in.info.Keyframes) > 0,
		Classes:  slices.Clone(in.model.Classes),
	}
	if scoring.HasVideo {
		for _, at := range in.info.Keyframes {
			scoring.Keyframes = append(scoring.Keyframes, max(at, 0).Round(time.Millisecond))
		}
		slices.Sort(scoring.Keyframes)
		scoring.Keyframes = slices.Compact(scoring.Keyframes)
	}
	return scoring
}

func (in *ingestion) tooLong() error {
	return &videoError{err: fmt.Errorf("it is longer than %v, which is the limit here: cut it into parts", in.service.opts.MaxDuration)}
}

// progress tells the observer how far it is, once a second.
func (in *ingestion) progress(ctx context.Context) {
	if in.service.opts.Observer == nil || time.Since(in.reported) < time.Second {
		return
	}
	in.reported = time.Now()
	in.service.observe(ctx, Observation{Kind: KindIngesting, Organization: in.org, Dataset: in.dataset, Video: in.video.ID,
		Position: in.position(), Length: in.info.Duration})
}

// mediaError says what an error of Files or Media means. If the context ended, that is the reason.
func (in *ingestion) mediaError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == ErrFormat { // which says nothing of what to do
		err = errNoFormat
	}
	lasting := errors.Is(err, ErrBadMedia) || errors.Is(err, ErrIncomplete)
	if !lasting {
		err = withoutPath(err)
	}
	return &videoError{err: err, lasting: lasting}
}

// scorerError is a failure of the scorer: it concerns all videos.
type scorerError struct{ err error }

func (e *scorerError) Error() string   { return "audiosearch: the scorer failed: " + e.err.Error() }
func (e *scorerError) Unwrap() []error { return []error{e.err, ErrUnavailable} }
