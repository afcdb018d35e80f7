package ingest

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// Options are the settings of New. The zero value means the defaults.
type Options struct {
	Logger *slog.Logger // slog.Default()

	// Progress is told how far Run is whenever that changes, one call after another. It
	// should return quickly, and must not call the Ingestion. Nil: nobody is told.
	Progress func(Progress)
}

// Progress is how far Run is, with the videos of all its datasets. The zero value is told
// when there is nothing to do.
type Progress struct {
	Done, Total int    // videos; with several models, by the one that is at work
	Model       string // that is at work; "" if there is but one
	Sound       audiosearch.SoundProgress

	Video            string        // that was heard of last; "" if none was
	Position, Length time.Duration // of its sound: what is scored, and all; 0: not known
}

// Dataset names a dataset of an organization.
type Dataset struct{ Organization, ID string }

// Ingestion has videos scored. It is safe for concurrent use, but Run is called once at a
// time.
type Ingestion struct {
	log  *slog.Logger
	show func(Progress)

	mu     sync.Mutex
	far    Progress
	before int                  // videos of the datasets that were looked at before the present one
	models map[string]bool      // that have scored
	warned map[[3]string]string // what was logged of a video, so that each search does not log it again
}

// New returns an Ingestion, whose Observe is to be the Observer of the service, or called
// by that.
func New(opts *Options) *Ingestion {
	if opts == nil {
		opts = new(Options)
	}
	in := &Ingestion{log: cmp.Or(opts.Logger, slog.Default()), show: opts.Progress, models: make(map[string]bool), warned: make(map[[3]string]string)}
	if in.show == nil {
		in.show = func(Progress) {}
	}
	return in
}

// Run looks at the datasets, one after another, each until that has succeeded, and has
// scored what has no scores or other ones (see [audiosearch.Service.Ingest]). It returns
// when ctx ends, if not before. What is missing then is scored by the next Run.
func (in *Ingestion) Run(ctx context.Context, service *audiosearch.Service, by audiosearch.Actor, datasets []Dataset) {
	if len(datasets) == 0 {
		return
	}
	begun := time.Now()
	total, counts := 0, make([]int, len(datasets))
	for i, d := range datasets {
		counts[i] = count(ctx, service, d)
		total += counts[i]
	}
	in.note(func(p *Progress) { *p, in.before = Progress{Total: total}, 0 })
	in.log.InfoContext(ctx, "looking at the videos", "datasets", len(datasets), "videos", total)

	var sum audiosearch.Ingested
	for i, d := range datasets {
		ingested := in.score(ctx, service, by, d)
		in.note(func(*Progress) { in.before += counts[i] })
		sum.Scored += ingested.Scored
		sum.Unchanged += ingested.Unchanged
		sum.Problems = append(sum.Problems, ingested.Problems...)
	}
	in.note(func(p *Progress) { *p = Progress{} })
	if ctx.Err() != nil {
		return
	}
	in.log.InfoContext(ctx, "all videos have been looked at", "scored", sum.Scored, "unchanged", sum.Unchanged, "problems", len(sum.Problems),
		"seconds", seconds(time.Since(begun)))
}

// seconds has three digits after the point at most. Those of Seconds may be more.
func seconds(d time.Duration) float64 {
	return float64(d.Round(time.Millisecond).Milliseconds()) / 1000
}

// count returns how many videos there are. That is for show only, so an error does not
// matter: scoring meets it again.
func count(ctx context.Context, service *audiosearch.Service, d Dataset) (n int) {
	for _, err := range service.Videos(ctx, d.Organization, d.ID) {
		if err != nil {
			break
		}
		n++
	}
	return n
}

// The pauses after a failure of the storage or of a scorer.
const (
	firstPause = time.Second
	lastPause  = 5 * time.Minute
)

// score looks at a dataset until that has succeeded. What is scored already is not scored
// again.
func (in *Ingestion) score(ctx context.Context, service *audiosearch.Service, by audiosearch.Actor, d Dataset) audiosearch.Ingested {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		ingested, err := service.Ingest(ctx, d.Organization, by, d.ID)
		if err == nil || ctx.Err() != nil || errors.Is(err, audiosearch.ErrDatasetNotFound) {
			return ingested
		}
		in.log.ErrorContext(ctx, "cannot score videos; trying again", "organization", d.Organization, "dataset", d.ID, "in", pause.String(), "error", err)
		select {
		case <-ctx.Done():
			return ingested
		case <-time.After(pause):
		}
	}
}

// Observe is the [audiosearch.Observer] of the service. So it hears of all videos that are
// scored, those that searches need included.
func (in *Ingestion) Observe(ctx context.Context, o audiosearch.Observation) {
	switch o.Kind {
	case audiosearch.KindIngesting:
		in.note(func(p *Progress) { p.Video, p.Position, p.Length = o.Video, o.Position, o.Length })
	case audiosearch.KindScoring:
		in.note(func(p *Progress) { in.scoring(p, &o) })
	case audiosearch.KindUnchanged, audiosearch.KindIngested:
		in.warn(ctx, o, "only a part of a video can be searched")
	case audiosearch.KindNotIngested:
		if !errors.Is(o.Err, audiosearch.ErrConflict) { // if so, whoever changed it has it scored
			in.warn(ctx, o, "a video cannot be searched")
		}
	}
}

// scoring takes down how far the present dataset is.
func (in *Ingestion) scoring(p *Progress, o *audiosearch.Observation) {
	if p.Total == 0 {
		return // somebody else looks at a dataset
	}
	in.models[o.Model] = true
	p.Done, p.Sound = in.before+o.Done, o.Sound
	p.Total = max(p.Total, p.Done) // there may be more videos by now
	if p.Model = ""; len(in.models) > 1 {
		p.Model = o.Model
	}
}

// maxWarned bounds what is remembered of warnings.
const maxWarned = 10_000

// warn logs what is wrong with a video, if anything is, and that is news.
func (in *Ingestion) warn(ctx context.Context, o audiosearch.Observation, message string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	v := [3]string{o.Organization, o.Dataset, o.Video}
	if o.Err == nil {
		delete(in.warned, v)
		return
	}
	problem := o.Err.Error()
	if in.warned[v] == problem {
		return
	}
	if len(in.warned) >= maxWarned {
		clear(in.warned)
	}
	in.warned[v] = problem
	in.log.WarnContext(ctx, message, "organization", o.Organization, "dataset", o.Dataset, "video", o.Video, "problem", problem)
}

// note changes the progress and tells it.
func (in *Ingestion) note(change func(*Progress)) {
	in.mu.Lock()
	defer in.mu.Unlock()
	change(&in.far)
	in.show(in.far)
}
