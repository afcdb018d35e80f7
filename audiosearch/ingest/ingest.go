package ingest

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
)

// Options are the settings of New. The zero value means the defaults.
type Options struct {
	Logger *slog.Logger // slog.Default()

	// Progress is told how far Run is whenever that changes, one call after another. It
	// should return quickly, and must not call the Ingestion. Nil: nobody is told.
	Progress func(Progress)
}

// Progress is how far Run is. What is scored meanwhile in other datasets does not count. The
// zero value is told when Run has ended.
type Progress struct {
	// Videos of all datasets of Run: those that were looked at, and all. If there are
	// several models, those that Model has looked at.
	Done, Total int
	Model       string                    // the ID of the one that is at work; "" if there is but one
	Sound       audiosearch.SoundProgress // of the present dataset

	// The ID of the video that is scored, or was scored last; "" if none was.
	Video            string
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
	now    Dataset              // the one that Run looks at; zero: none
	before int                  // videos of the datasets that were looked at before that
	models map[string]bool      // that have scored
	warned map[[3]string]string // what was logged of a video, so that it is not logged again
}

// New returns an Ingestion. Its Observe is to be the Observer of the service, or to be called
// by that one.
func New(opts *Options) *Ingestion {
	if opts == nil {
		opts = new(Options)
	}
	in := &Ingestion{
		log: cmp.Or(opts.Logger, slog.Default()), show: opts.Progress,
		models: make(map[string]bool), warned: make(map[[3]string]string),
	}
	if in.show == nil {
		in.show = func(Progress) {}
	}
	return in
}

// Run has the videos of the datasets scored, one dataset after another: those that have no
// scores, and those whose file or model has changed since (see [audiosearch.Service.Ingest]).
// While the storage or a scorer is away it tries again, after 1 s, then 2 s and so on, after
// 5 minutes at most. A dataset that is not there is logged and left out. Run returns when all
// have been looked at, or ctx ends; then the next Run scores what is missing. Until it has
// returned, the service and its database are in use.
func (in *Ingestion) Run(ctx context.Context, service *audiosearch.Service, by mortise.Actor, datasets []Dataset) {
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
		in.note(func(*Progress) { in.now = d })
		ingested := in.score(ctx, service, by, d)
		in.note(func(p *Progress) {
			if in.before += counts[i]; ctx.Err() == nil {
				p.Done = max(p.Done, in.before)
			}
		})
		sum.Scored += ingested.Scored
		sum.Unchanged += ingested.Unchanged
		sum.Problems = append(sum.Problems, ingested.Problems...)
	}
	in.note(func(p *Progress) { *p, in.now = Progress{}, Dataset{} })
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
func (in *Ingestion) score(ctx context.Context, service *audiosearch.Service, by mortise.Actor, d Dataset) audiosearch.Ingested {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		ingested, err := service.Ingest(ctx, d.Organization, by, d.ID)
		if err == nil || ctx.Err() != nil {
			return ingested
		}
		if errors.Is(err, audiosearch.ErrDatasetNotFound) {
			in.log.WarnContext(ctx, "there is no such dataset", "organization", d.Organization, "dataset", d.ID)
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

// Observe is a [mortise.Observer]. It hears of all videos that are scored, also those
// that a search needs, and logs the ones of which all or a part cannot be searched.
func (in *Ingestion) Observe(ctx context.Context, o mortise.Observation) {
	d, ok := o.Detail.(audiosearch.Detail)
	if !ok {
		return // an observation of another service
	}
	of := Dataset{o.Organization, d.Dataset}
	switch o.Kind {
	case mortise.KindIngesting:
		in.noteOf(of, func(p *Progress) { p.Video, p.Position, p.Length = o.Object, d.Position, d.Length })
	case mortise.KindScoring:
		in.noteOf(of, func(p *Progress) { in.scoring(p, &d) })
	case mortise.KindUnchanged, mortise.KindIngested:
		in.warn(ctx, of, &o, "only a part of a video can be searched")
	case mortise.KindNotIngested:
		if !errors.Is(o.Err, audiosearch.ErrConflict) { // if so, whoever changed it has it scored
			in.warn(ctx, of, &o, "a video cannot be searched")
		}
	}
}

// scoring takes down how far the present dataset is.
func (in *Ingestion) scoring(p *Progress, d *audiosearch.Detail) {
	in.models[d.Model] = true
	p.Done, p.Sound = in.before+d.Done, d.Sound
	p.Total = max(p.Total, p.Done, in.before+d.Total) // there may be more videos by now
	if p.Model = ""; len(in.models) > 1 {
		p.Model = d.Model
	}
}

// maxWarned bounds what is remembered of warnings.
const maxWarned = 10_000

// warn logs what is wrong with a video, if anything is, and that is news.
func (in *Ingestion) warn(ctx context.Context, of Dataset, o *mortise.Observation, message string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	v := [3]string{of.Organization, of.ID, o.Object}
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
	in.log.WarnContext(ctx, message, "organization", of.Organization, "dataset", of.ID, "video", o.Object, "problem", problem)
}

// note changes the progress, and tells it if it is another one.
func (in *Ingestion) note(change func(*Progress)) {
	in.mu.Lock()
	defer in.mu.Unlock()
	was := in.far
	if change(&in.far); in.far != was {
		in.show(in.far)
	}
}

// noteOf is note of what was observed, unless that is of a dataset that Run does not look
// at.
func (in *Ingestion) noteOf(of Dataset, change func(*Progress)) {
	in.note(func(p *Progress) {
		if in.now == of {
			change(p)
		}
	})
}
