package audiosearch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch/internal/clips"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/failure"
)

// scored is what came of scoring a file, but for what ingestion.put adds: the scores of
// the last segments. Those before them stand in parts.
type scored struct {
	Scoring
	columns [][]uint16
}

// reader is a file that is being scored.
type reader struct {
	*ingestion
	file     string
	beat     func(time.Duration)
	segments *clips.Cutter
	scores   *clips.Collector
	part     Part // that is being scored
}

// score decodes the file and has it scored, a part at a time. If the outcome is a problem
// that lasts, there may be scores as well, of the part of the file that is there. When
// score returns, the decoder has ended.
func (in *ingestion) score(ctx context.Context, file string, beat func(time.Duration)) (scored, *outcome, error) {
	s := in.service
	if !in.info.Estimated && in.info.Duration > s.opts.MaxDuration {
		return scored{}, in.tooLong(), nil
	}
	in.samples.Store(0)
	in.turned = in.scorer.turned()
	part, err := in.parts(ctx, in.state.digest)
	if err != nil {
		return scored{}, nil, err
	}
	r := &reader{in, file, beat, clips.NewCutter(&in.model), clips.NewCollector(len(in.model.Classes)), part}
	r.segments.Skip(part.First)
	in.gauge.Length.Store(int64(in.info.Duration))
	r.got(false)
	decoding := in.decodeAhead(ctx, file)
	defer decoding.stop(ctx, in, beat)
	for {
		whole, more := decoding.Next(decoding.done, r.segments)
		if !more {
			break
		}
		beat(s.opts.Stall)
		if r.segments.Full() {
			if o, err := r.flush(ctx, r.segments.Clips()); o != nil || err != nil {
				return scored{}, o, err
			}
		}
		if whole {
			in.samples.Store(r.segments.Total)
			in.progress(ctx)
		}
		if ctx.Err() != nil {
			return scored{}, nil, context.Cause(ctx)
		}
	}
	var bad *outcome
	switch end := decoding.end; {
	case end.lost != nil:
		return scored{}, nil, end.lost
	case end.bad != nil:
		return scored{}, end.bad, nil
	case errors.Is(end.said, sound.ErrIncomplete) && r.segments.Total > 0:
		bad = &outcome{kind: newlyScored, problem: videoMessage(end.said), lasting: true, cause: end.said}
	case end.said != nil:
		o, err := in.unread(ctx, end.said)
		return scored{}, o, err
	}
	if ctx.Err() != nil { // a Media may end without a word then
		return scored{}, nil, context.Cause(ctx)
	}
	if o, err := r.flush(ctx, r.segments.Clips()); o != nil || err != nil {
		return scored{}, o, err
	}
	if last := r.segments.Last(); last != nil {
		if o, err := r.flush(ctx, [][]float32{last}); o != nil || err != nil {
			return scored{}, o, err
		}
	}
	if r.segments.Skipping() { // it was longer when its parts were stored, or its decoder was another one
		in.partless = true
		return scored{}, &outcome{kind: rewritten}, nil
	}
	if r.segments.Taken == 0 {
		return scored{}, broken(errors.New("the file has no sound: leave it out, or give it a sound track")), nil
	}
	in.gauge.Got(lasting(&in.model, r.segments.Total), true)
	return scored{in.describe(r.segments), r.scores.Columns}, bad, nil
}

// flush has clips scored, and stores a part if there is one.
func (r *reader) flush(ctx context.Context, clips [][]float32) (*outcome, error) {
	if len(clips) == 0 {
		return nil, nil
	}
	r.stage.Store(scoring)
	rows, err := r.scorer.scorer.Score(ctx, clips)
	if err = failure.FromHook(err); err == nil {
		err = r.scores.Add(rows, len(clips))
	}
	if err != nil {
		return nil, &scorerError{err}
	}
	r.stage.Store(reading)
	r.beat(r.service.opts.Stall)
	r.segments.Take(len(clips))
	r.got(true)
	if !r.partless && r.scores.Windows() >= r.partWindows() {
		if o, err := r.putPart(ctx); o != nil || err != nil {
			return o, err
		}
	}
	r.beat(unwatched)
	defer r.beat(r.service.opts.Stall)
	return nil, r.place.GiveWay(ctx, turnLength)
}

// got notes how far it is: all before the next segment is scored, here or, if that is not
// fresh, by others.
func (r *reader) got(fresh bool) {
	next := int64(r.segments.Taken) * int64(r.segments.Hop)
	r.gauge.Got(lasting(&r.model, next), fresh)
}

// areNumbers reports whether no sample is NaN or infinite.
func areNumbers(samples []float32) bool {
	for _, x := range samples {
		if x-x != 0 {
			return false
		}
	}
	return true
}

// maxPartScores bounds the scores that are held in memory until they are stored.
const maxPartScores = 16 << 20

// partWindows is how many segments a part has. Parts end where batches do, so that a
// video whose scoring was cut off is scored in the batches in which it would have been.
func (in *ingestion) partWindows() int {
	m := &in.model
	n := int((in.service.opts.Part + m.Hop - 1) / m.Hop)
	n = max(1, min(n, maxPartScores/len(m.Classes)))
	return (n + m.Batch - 1) / m.Batch * m.Batch
}

// parts returns the part that is to be scored first. What a process has left behind is
// not scored again.
func (in *ingestion) parts(ctx context.Context, digest [32]byte) (Part, error) {
	m := &in.model
	p := Part{
		Video: in.video.ID, Path: in.video.Path, Model: m.ID, Media: in.service.media, Digest: digest, Classes: m.Classes, At: in.service.now(),
		// As in describe: stored times are told from whole samples.
		Window: lasting(m, int64(m.Samples(m.Window))), Hop: lasting(m, int64(m.Samples(m.Hop))),
	}
	if d := in.info.Duration; in.partless || d > 0 && d <= time.Duration(in.partWindows())*m.Hop {
		return p, nil // a short video has none
	}
	in.stage.Store(storing)
	stored, err := in.service.store.Parts(ctx, in.org, in.dataset, p)
	if err != nil && !errors.Is(err, ErrConflict) { // the end of the scoring will see that
		return p, unavailable("look for parts of scores", err)
	}
	in.stage.Store(reading)
	p.First = stored
	return p, nil
}

// putPart stores what is scored since the part before. If others have stored more, it
// goes on behind that.
func (r *reader) putPart(ctx context.Context) (*outcome, error) {
	if err := r.sameModel(ctx); err != nil {
		return nil, err
	}
	if o := r.sameFile(r.file); o != nil { // or the part would be kept for a file that it is not of
		return o, nil
	}
	r.stage.Store(storing)
	r.part.At = r.service.now()
	stored, err := r.service.store.PutPart(ctx, r.org, r.dataset, r.part, r.scores.Columns)
	if errors.Is(err, ErrConflict) {
		return r.overtaken(ctx, r.part.Digest)
	}
	if err != nil {
		return nil, unavailable("store a part of scores", err)
	}
	r.stage.Store(reading)
	r.beat(r.service.opts.Stall)
	r.scores.Reset()
	r.part.First = stored
	r.segments.Skip(stored)
	r.got(false) // unless others have stored more, it is so far already
	return nil, nil
}

// describe describes what was scored, but for what put adds.
func (in *ingestion) describe(g *clips.Cutter) Scoring {
	// Spans are told from whole samples, so that they cannot drift from what was scored.
	scoring := Scoring{
		Start:    max(in.info.Start, 0).Round(time.Millisecond),
		Duration: max(lasting(&in.model, g.Total).Round(time.Millisecond), time.Millisecond),
		Window:   lasting(&in.model, int64(g.Window)),
		Hop:      lasting(&in.model, int64(g.Hop)),
		Windows:  g.Taken,
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

func (in *ingestion) tooLong() *outcome {
	return failed(fmt.Errorf("it is longer than %v, which is the limit here: cut it into parts", in.service.opts.MaxDuration))
}

// scorerError is a failure of the scorer: it concerns all videos.
type scorerError struct{ err error }

func (e *scorerError) Error() string   { return "audiosearch: the scorer failed: " + e.err.Error() }
func (e *scorerError) Unwrap() []error { return []error{e.err, mortise.ErrUnavailable} }
