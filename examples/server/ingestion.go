package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
)

// ingestion has the videos of provisioned datasets scored in the background, once the
// server listens. It hears of all videos that are scored, those that searches need
// included, and tells how far it is: by a progress bar on a terminal, by log lines
// elsewhere.
type ingestion struct {
	service   *audiosearch.Service
	log       *slog.Logger
	screen    *console      // where the bar is; nil: nowhere. It is set before anything runs.
	listening chan struct{} // closed when run may begin
	datasets  []datasetName // to look at; complete when listening is closed

	mu     sync.Mutex
	far    progress
	before int                  // videos of the datasets that were looked at before the present one
	models map[string]bool      // that have scored
	logged time.Time            // when it was logged last how far it is
	warned map[videoName]string // what was logged of a video, so that each search does not log it again
}

type datasetName struct{ organization, id string }

type videoName struct {
	datasetName
	video string
}

func newIngestion(log *slog.Logger) *ingestion {
	return &ingestion{log: log, listening: make(chan struct{}), warned: make(map[videoName]string), models: make(map[string]bool)}
}

// begin lets run do its work.
func (in *ingestion) begin() { close(in.listening) }

// run looks at all datasets, and returns when ctx ends.
func (in *ingestion) run(ctx context.Context) error {
	select {
	case <-in.listening:
	case <-ctx.Done():
		return nil
	}
	if len(in.datasets) > 0 {
		in.scoreAll(ctx)
	}
	<-ctx.Done()
	return nil
}

func (in *ingestion) scoreAll(ctx context.Context) {
	begun := time.Now()
	total, counts := 0, make(map[datasetName]int)
	for _, d := range in.datasets {
		counts[d] = in.count(ctx, d)
		total += counts[d]
	}
	in.mu.Lock()
	in.far, in.logged = progress{total: total}, begun
	in.mu.Unlock()
	in.log.InfoContext(ctx, "looking at the videos", "datasets", len(in.datasets), "videos", total)
	in.show()
	defer in.note(func(p *progress) { *p = progress{} })

	var sum audiosearch.Ingested
	for _, d := range in.datasets {
		ingested := in.score(ctx, d)
		in.note(func(p *progress) { in.before += counts[d] })
		sum.Scored += ingested.Scored
		sum.Unchanged += ingested.Unchanged
		sum.Problems = append(sum.Problems, ingested.Problems...)
	}
	if ctx.Err() != nil {
		return // what is missing is scored at the next start
	}
	in.note(func(p *progress) { *p = progress{} })
	in.log.InfoContext(ctx, "all videos have been looked at", "scored", sum.Scored, "unchanged", sum.Unchanged, "problems", len(sum.Problems),
		"seconds", loggedSeconds(time.Since(begun)))
}

// loggedSeconds has three digits after the point at most. Those of Seconds may be more.
func loggedSeconds(d time.Duration) float64 {
	return float64(d.Round(time.Millisecond).Milliseconds()) / 1000
}

// count returns how many videos there are. That is for show only, so an error does not
// matter: scoring meets it again.
func (in *ingestion) count(ctx context.Context, d datasetName) (n int) {
	for _, err := range in.service.Videos(ctx, d.organization, d.id) {
		if err != nil {
			break
		}
		n++
	}
	return n
}

// The pauses after a failure of the storage or of the scorer.
const (
	firstPause = time.Second
	lastPause  = 5 * time.Minute
)

// score looks at a dataset until that has succeeded. What is scored already is not scored
// again.
func (in *ingestion) score(ctx context.Context, d datasetName) audiosearch.Ingested {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		ingested, err := in.service.Ingest(ctx, d.organization, provisioning, d.id)
		if err == nil || ctx.Err() != nil || errors.Is(err, audiosearch.ErrDatasetNotFound) {
			return ingested
		}
		in.log.ErrorContext(ctx, "cannot score videos; trying again", "organization", d.organization, "dataset", d.id, "in", pause.String(), "error", err)
		select {
		case <-ctx.Done():
			return ingested
		case <-time.After(pause):
		}
	}
}

// observe is the [audiosearch.Observer].
func (in *ingestion) observe(ctx context.Context, o audiosearch.Observation) {
	v := videoName{datasetName{o.Organization, o.Dataset}, o.Video}
	about := []any{"organization", o.Organization, "dataset", o.Dataset, "video", o.Video}
	switch o.Kind {
	case audiosearch.KindIngesting:
		in.note(func(p *progress) { p.at(o.Video, o.Position, o.Length) })
	case audiosearch.KindScoring:
		in.scoring(ctx, o)
	case audiosearch.KindUnchanged:
		in.partly(ctx, v, o.Err, about)
	case audiosearch.KindIngested:
		in.partly(ctx, v, o.Err, about)
		if !in.screen.shows() {
			in.log.InfoContext(ctx, "video scored", append(about, "sound", clock(o.Length), "seconds", loggedSeconds(o.Duration))...)
		}
	case audiosearch.KindNotIngested:
		if errors.Is(o.Err, audiosearch.ErrConflict) {
			return // it was changed meanwhile, and whoever changed it has it scored
		}
		if what := o.Err.Error(); in.warn(v, what) {
			in.log.WarnContext(ctx, "a video cannot be searched", append(about, "problem", what)...)
		}
	}
}

// logEvery is how often it is logged how far it is where no bar shows it.
const logEvery = time.Minute

// scoring shows how far a dataset is.
func (in *ingestion) scoring(ctx context.Context, o audiosearch.Observation) {
	in.note(func(p *progress) {
		if p.total == 0 {
			return // somebody else looks at a dataset
		}
		in.models[o.Model] = true
		p.done, p.sound = in.before+o.Done, o.Sound
		p.total = max(p.total, p.done) // there may be more videos by now
		if p.model = ""; len(in.models) > 1 {
			p.model = o.Model
		}
	})
	in.mu.Lock()
	due := time.Since(in.logged) >= logEvery
	if due {
		in.logged = time.Now()
	}
	in.mu.Unlock()
	if !due || in.screen.shows() {
		return
	}
	far := []any{"organization", o.Organization, "dataset", o.Dataset, "model", o.Model, "done", o.Done, "total", o.Total}
	if o.Sound.Done > 0 || o.Sound.Total > 0 {
		far = append(far, "sound", soundInWords(o.Sound, "", "x", ", about "))
	}
	in.log.InfoContext(ctx, "scoring videos", far...)
}

// partly logs why only a part of a video can be searched; without an error, all of it
// can.
func (in *ingestion) partly(ctx context.Context, v videoName, err error, about []any) {
	what := ""
	if err != nil {
		what = err.Error()
	}
	if in.warn(v, what) {
		in.log.WarnContext(ctx, "only a part of a video can be searched", append(about, "problem", what)...)
	}
}

// maxWarned bounds what is remembered of warnings.
const maxWarned = 10_000

// warn remembers what is wrong with a video, "" for nothing, and reports whether that is
// news.
func (in *ingestion) warn(v videoName, what string) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.warned[v] == what {
		return false
	}
	if what == "" {
		delete(in.warned, v)
		return false
	}
	if len(in.warned) >= maxWarned {
		clear(in.warned)
	}
	in.warned[v] = what
	return true
}

// note changes the progress and shows it.
func (in *ingestion) note(change func(*progress)) {
	in.mu.Lock()
	change(&in.far)
	in.mu.Unlock()
	in.show()
}

func (in *ingestion) show() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.screen.show(in.far.bar())
}
