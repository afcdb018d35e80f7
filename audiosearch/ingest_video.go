package audiosearch

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch/internal/flights"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/hook"
	"github.com/seed-6363c74e/mortise/internal/mark"
	"github.com/seed-6363c74e/mortise/internal/turns"
	"github.com/seed-6363c74e/mortise/internal/watch"
)

// ingestion is the scoring of one video by one model.
type ingestion struct {
	service      *Service
	org, dataset string
	video        Video
	scorer       *plug
	model        sound.Model

	stage   atomic.Int32   // what takes long, or panics, now; what is decoded ahead does not count
	samples atomic.Int64   // decoded, and taken for scoring
	gauge   *flights.Gauge // scored
	place   *turns.Place   // among the videos that are being scored

	info     sound.Info
	state    fileState // of the file, when its reading began
	partless bool      // its parts are of no use
	turned   int       // of the scorer, before anything was scored
	reported time.Time // of the latest progress
}

// turnLength is how long a video is scored at least before another organization has its
// turn, and unwatched is a time in which nobody is blamed.
const (
	turnLength = time.Second
	unwatched  = 1 << 62 * time.Nanosecond
)

// The stages of an ingestion say whose fault it is if it stands still.
const (
	reading int32 = iota // the file's, or that of what reads it
	scoring              // the scorer's
	storing              // the store's
)

func (in *ingestion) position() time.Duration { return lasting(&in.model, in.samples.Load()) }

// What a panic of a Scorer or a Media is logged as.
const (
	scorerHook = "the scorer"
	mediaHook  = "the media"
)

// panicked returns what a panic becomes.
func (in *ingestion) panicked(ctx context.Context) func(p any) error {
	return func(p any) error {
		name := [...]string{reading: mediaHook, scoring: scorerHook, storing: "the store or the files"}[in.stage.Load()]
		return in.broke(ctx, name, p)
	}
}

// broke is what a panic of a hook becomes.
func (in *ingestion) broke(ctx context.Context, name string, p any) error {
	return hook.Panicked(ctx, in.service.opts.Logger, name, p, "organization", in.org, "dataset", in.dataset, "video", in.video.ID)
}

// work scores the video when there is a place for it, watched. An error is one of the
// service.
func (in *ingestion) work(ctx context.Context) (*outcome, error) {
	s := in.service
	if s.opts.Media == nil {
		return in.notHere(ctx)
	}
	place, err := s.slots.Hold(ctx, in.org)
	if err != nil {
		return nil, err
	}
	defer place.End()
	in.place = place
	start := time.Now()
	came := make(chan *outcome, 1) // work that is left behind must not write where somebody reads
	err = watch.Run(ctx, s.opts.Open, s.opts.Grace, in.panicked(ctx), func(ctx context.Context, beat func(time.Duration)) error {
		o, err := in.run(ctx, beat)
		came <- o
		return err
	})
	var o *outcome
	var panicked *hook.PanicError
	switch {
	case err == nil:
		o = <-came
	case in.stage.Load() == scoring:
		var failure *scorerError
		if ctx.Err() == nil && !errors.As(err, &failure) {
			err = &scorerError{err}
		}
	case in.stage.Load() == storing:
	case errors.Is(err, watch.ErrStalled):
		o, err = failed(errors.New("reading it showed no progress for too long: look at the file and where it is stored")), nil
	case errors.As(err, &panicked):
		o, err = failed(errors.New("it broke the program that reads it: convert it, and ask the operator to look at the log")), nil
	}
	if err == nil && o.kind == unsearchable {
		o = in.served(ctx, o)
	}
	in.observe(ctx, o, err, time.Since(start))
	return o, err
}

// served is the outcome of a video that could not be read: if it still has scores of another
// media, these are searched until it can.
func (in *ingestion) served(ctx context.Context, o *outcome) *outcome {
	stored, err := in.service.scoring(ctx, in.org, in.dataset, in.video.ID, in.model.ID)
	if err != nil || !stored.Scored() || stored.Media == in.service.media {
		return o
	}
	return known(&stored)
}

// notHere is the outcome of a video that is not wholly scored in a service without Media.
func (in *ingestion) notHere(ctx context.Context) (*outcome, error) {
	stored, err := in.service.scoring(ctx, in.org, in.dataset, in.video.ID, in.model.ID)
	switch {
	case errors.Is(err, ErrNotScored):
		return failed(errors.New("it is not scored yet, and this service scores none: have it scored by one that does")), nil
	case err != nil:
		return nil, err
	case stored.Problem == "": // scored in this moment
		return &outcome{kind: newlyScored}, nil
	}
	return known(&stored), nil
}

// run scores the video and stores what came of it.
func (in *ingestion) run(ctx context.Context, beat func(time.Duration)) (*outcome, error) {
	// A file that is being written is read again a few times: it may be complete by then.
	const tries = 3
	for try := 1; ; try++ {
		in.stage.Store(reading)
		beat(in.service.opts.Open)
		file, release, err := in.service.opts.Files.Local(ctx, in.org, in.video.Path)
		if err != nil {
			return in.unread(ctx, err)
		}
		o, err := func() (*outcome, error) {
			defer release()
			beat(in.service.opts.Stall)
			return in.file(ctx, file, beat)
		}()
		if err != nil || o.kind != rewritten {
			return o, err
		}
		if try == tries {
			return failed(errChanged), nil
		}
	}
}

// file is run with the local file at hand.
func (in *ingestion) file(ctx context.Context, file string, beat func(time.Duration)) (*outcome, error) {
	s := in.service
	before, unread := statFile(file)
	if unread != nil {
		return unread, nil
	}
	in.stage.Store(storing)
	stored, err := s.scoring(ctx, in.org, in.dataset, in.video.ID, in.model.ID)
	tried := err == nil
	if err != nil && !errors.Is(err, ErrNotScored) {
		return nil, err
	}
	in.stage.Store(reading)
	tried = tried && stored.Media == s.media
	if tried && before.sameStat(fileState{size: stored.FileSize, modTime: stored.FileTime}) {
		return known(&stored), nil
	}
	// A kind of file that nobody reads is not worth the reading of it all.
	beat(s.opts.Open)
	info, err := s.opts.Media.Probe(ctx, file)
	beat(s.opts.Stall)
	var bad *outcome
	if err != nil {
		if bad, err = in.unread(ctx, err); err != nil || !bad.lasting {
			return bad, err
		}
	}
	if before.digest, unread, err = digestFile(ctx, file, func() { beat(s.opts.Stall) }); unread != nil || err != nil {
		return unread, err
	}
	if tried && stored.FileSize == before.size && stored.Digest == before.digest {
		return known(&stored), nil
	}

	in.info, in.state = info, before
	var result scored
	if bad == nil {
		if result, bad, err = in.score(ctx, file, beat); err != nil {
			return nil, err
		}
		if bad != nil && !bad.lasting {
			return bad, nil
		}
	}
	if err := in.sameModel(ctx); err != nil {
		return nil, err
	}
	if o := in.sameFile(file); o != nil {
		return o, nil
	}
	in.stage.Store(storing)
	return in.put(ctx, before, result, bad)
}

// sameFile returns an outcome unless the file is still the one that is being scored.
func (in *ingestion) sameFile(file string) *outcome {
	in.stage.Store(reading)
	files, ok := in.service.opts.Files.(sound.SameFiles)
	if ok && !files.Same(in.org, in.video.Path, file) {
		return &outcome{kind: rewritten}
	}
	now, unread := statFile(file)
	if unread == nil && !now.sameStat(in.state) {
		unread = &outcome{kind: rewritten}
	}
	return unread
}

// put stores what came of scoring the file.
func (in *ingestion) put(ctx context.Context, file fileState, result scored, bad *outcome) (*outcome, error) {
	s, o := in.service, &outcome{kind: newlyScored}
	if bad != nil {
		o, result.Problem = bad, bad.problem
	}
	result.Model, result.At = in.model.ID, s.now()
	result.FileSize, result.FileTime, result.Digest, result.Media = file.size, file.modTime, file.digest, s.media
	err := s.store.PutScoring(ctx, in.org, in.dataset, in.video.ID, in.video.Path, result.Scoring, result.columns)
	switch {
	case errors.Is(err, ErrConflict):
		return in.overtaken(ctx, file.digest)
	case err != nil:
		return nil, unavailable("store scores", err)
	}
	return o, nil
}

// overtaken is the outcome if there is no place for scores any more: somebody else has
// scored the same file, or the video was changed in the catalog.
func (in *ingestion) overtaken(ctx context.Context, digest [32]byte) (*outcome, error) {
	stored, err := in.service.scoring(ctx, in.org, in.dataset, in.video.ID, in.model.ID)
	switch {
	case err == nil && stored.Digest == digest && stored.Media == in.service.media:
		o := known(&stored)
		o.lasting = false // it is stored
		return o, nil
	case err == nil || errors.Is(err, ErrNotScored):
		return &outcome{kind: moved}, nil
	}
	return nil, err
}

// errModelChanged: what was scored was scored by nobody knows which of two.
var errModelChanged = fmt.Errorf("%w: the scorer's model changed meanwhile: try again", mortise.ErrUnavailable)

// sameModel returns an error unless the scorer still has the model that the video was
// scored by, and has had no other one meanwhile.
func (in *ingestion) sameModel(ctx context.Context) error {
	in.stage.Store(scoring)
	now, err := in.scorer.model(ctx)
	if err == nil && (!sameScores(&now, &in.model) || in.scorer.turned() != in.turned) {
		err = errModelChanged
	}
	return err
}

// progress tells the observer how far it is, once a second.
func (in *ingestion) progress(ctx context.Context) {
	if in.service.opts.Observer == nil || time.Since(in.reported) < time.Second {
		return
	}
	in.reported = time.Now()
	in.service.observe(ctx, mortise.Observation{Kind: mortise.KindIngesting, Organization: in.org, Object: in.video.ID, Detail: Detail{
		Dataset: in.dataset, Model: in.model.ID, Position: time.Duration(in.gauge.Heard.Load()), Length: in.info.Duration,
	}})
}

// errNoFormat is what is said of a file that nothing reads, if nothing says more.
var errNoFormat = mark.As(errors.New("no files of this kind are read here: convert it"), sound.ErrFormat)

// unread is the outcome after an error of Files or Media. If the context ended, that is
// the reason, and no outcome.
func (in *ingestion) unread(ctx context.Context, err error) (*outcome, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err == sound.ErrFormat { // which says nothing of what to do
		err = errNoFormat
	}
	if errors.Is(err, sound.ErrBadMedia) || errors.Is(err, sound.ErrIncomplete) {
		return broken(err), nil
	}
	return failed(withoutPath(err)), nil
}

// observe tells what came of it.
func (in *ingestion) observe(ctx context.Context, o *outcome, err error, took time.Duration) {
	if errors.Is(err, flights.ErrAbandoned) {
		return
	}
	seen := mortise.Observation{Kind: mortise.KindNotIngested, Organization: in.org, Object: in.video.ID, Duration: took, Err: err}
	d := Detail{Dataset: in.dataset, Model: in.model.ID, Position: in.position()}
	if err == nil {
		seen.Err = o.err()
		switch o.kind {
		case newlyScored:
			seen.Kind, d.Length = mortise.KindIngested, d.Position
		case unchanged:
			seen.Kind = mortise.KindUnchanged
		}
	}
	seen.Detail = d
	in.service.observe(ctx, seen)
}
