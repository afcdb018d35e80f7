package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/storage/provision"
)

// ingestion has the videos of provisioned datasets scored in the background, once the
// server listens. It hears of all videos that are scored, those that searches need
// included, and tells how far it is: by a progress bar on a terminal, by log lines
// elsewhere.
type ingestion struct {
	service  *audiosearch.Service
	meters   *meters
	log      *slog.Logger
	screen   *console            // where the bar is; nil: nowhere. It is set before anything runs.
	datasets []provision.Dataset // to look at; complete before run begins

	mu     sync.Mutex
	far    progress
	before int                  // videos of the datasets that were looked at before the present one
	models map[string]bool      // that have scored
	logged time.Time            // when it was logged last how far it is
	warned map[[3]string]string // what was logged of a video, so that each search does not log it again
}

func newIngestion(m *meters, log *slog.Logger) *ingestion {
	return &ingestion{meters: m, log: log, warned: make(map[[3]string]string), models: make(map[string]bool)}
}

// add adds datasets to look at, before run.
func (in *ingestion) add(datasets []provision.Dataset) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.datasets = append(in.datasets, datasets...)
}

// run looks at all datasets. It returns when ctx ends, if not before.
func (in *ingestion) run(ctx context.Context) {
	if len(in.datasets) == 0 {
		return
	}
	begun := time.Now()
	total, counts := 0, make(map[provision.Dataset]int)
	for _, d := range in.datasets {
		counts[d] = in.count(ctx, d)
		total += counts[d]
	}
	in.note(func(p *progress) { *p, in.logged = progress{total: total}, begun })
	in.log.InfoContext(ctx, "looking at the videos", "datasets", len(in.datasets), "videos", total)

	var sum audiosearch.Ingested
	for _, d := range in.datasets {
		ingested := in.score(ctx, d)
		in.note(func(p *progress) { in.before += counts[d] })
		sum.Scored += ingested.Scored
		sum.Unchanged += ingested.Unchanged
		sum.Problems = append(sum.Problems, ingested.Problems...)
	}
	in.note(func(p *progress) { *p = progress{} })
	if ctx.Err() != nil {
		return // what is missing is scored at the next start
	}
	in.log.InfoContext(ctx, "all videos have been looked at", "scored", sum.Scored, "unchanged", sum.Unchanged, "problems", len(sum.Problems),
		"seconds", loggedSeconds(time.Since(begun)))
}

// loggedSeconds has three digits after the point at most. Those of Seconds may be more.
func loggedSeconds(d time.Duration) float64 {
	return float64(d.Round(time.Millisecond).Milliseconds()) / 1000
}

// count returns how many videos there are. That is for show only, so an error does not
// matter: scoring meets it again.
func (in *ingestion) count(ctx context.Context, d provision.Dataset) (n int) {
	for _, err := range in.service.Videos(ctx, d.Organization, d.ID) {
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
func (in *ingestion) score(ctx context.Context, d provision.Dataset) audiosearch.Ingested {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		ingested, err := in.service.Ingest(ctx, d.Organization, provision.Actor, d.ID)
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

// observe is the [audiosearch.Observer].
func (in *ingestion) observe(ctx context.Context, o audiosearch.Observation) {
	in.meters.event("audiosearch", string(o.Kind))
	switch o.Kind {
	case audiosearch.KindIngesting:
		in.note(func(p *progress) { p.video, p.position, p.length = o.Video, o.Position, o.Length })
	case audiosearch.KindScoring:
		in.scoring(ctx, o)
	case audiosearch.KindUnchanged:
		in.warn(ctx, o, "only a part of a video can be searched")
	case audiosearch.KindIngested:
		in.warn(ctx, o, "only a part of a video can be searched")
		if !in.screen.shows() {
			in.log.InfoContext(ctx, "video scored", "organization", o.Organization, "dataset", o.Dataset, "video", o.Video,
				"sound", clock(o.Length), "seconds", loggedSeconds(o.Duration))
		}
	case audiosearch.KindNotIngested:
		if !errors.Is(o.Err, audiosearch.ErrConflict) { // if so, whoever changed it has it scored
			in.warn(ctx, o, "a video cannot be searched")
		}
	}
}

// logEvery is how often it is logged how far it is where no bar shows it.
const logEvery = time.Minute

// scoring shows how far a dataset is.
func (in *ingestion) scoring(ctx context.Context, o audiosearch.Observation) {
	due := false
	in.note(func(p *progress) {
		if due = time.Since(in.logged) >= logEvery; due {
			in.logged = time.Now()
		}
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
	if !due || in.screen.shows() {
		return
	}
	far := []any{"organization", o.Organization, "dataset", o.Dataset, "model", o.Model, "done", o.Done, "total", o.Total}
	if o.Sound.Done > 0 || o.Sound.Total > 0 {
		far = append(far, "sound", soundInWords(o.Sound, "", "x", ", about "))
	}
	in.log.InfoContext(ctx, "scoring videos", far...)
}

// maxWarned bounds what is remembered of warnings.
const maxWarned = 10_000

// warn logs what is wrong with a video, if anything is, and that is news.
func (in *ingestion) warn(ctx context.Context, o audiosearch.Observation, message string) {
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

// note changes the progress and shows it.
func (in *ingestion) note(change func(*progress)) {
	in.mu.Lock()
	defer in.mu.Unlock()
	change(&in.far)
	in.screen.show(in.far.bar())
}

// progress is how far the scoring of the videos of all datasets is.
type progress struct {
	done, total int    // videos: with two models, by the one that is at work
	model       string // that is at work, "" if there is but one
	sound       audiosearch.SoundProgress

	video    string // the one that was heard of last
	position time.Duration
	length   time.Duration // 0: not known
}

// bar shows it on one short line, and "" if there is nothing to do. What is not known is
// not there; the sound in all, and so the time that is left, are estimates.
func (p *progress) bar() string {
	if p.total == 0 {
		return ""
	}
	const width, maxName = 24, 20
	share := float64(p.done) / float64(p.total)
	if p.sound.Total > 0 { // which is what takes time
		share = float64(p.sound.Done) / float64(p.sound.Total)
	}
	filled := int(width * min(share, 1))
	text := "Scoring videos "
	if p.model != "" {
		text += "by " + shortened(p.model, maxName) + " "
	}
	text += fmt.Sprintf("[%s%s] %d of %d", strings.Repeat("#", filled), strings.Repeat(".", width-filled), p.done, p.total)
	switch {
	case p.sound.Done > 0 || p.sound.Total > 0:
		text += "  " + soundInWords(p.sound, "", "x", ", about ")
	case p.video != "":
		text += "  " + shortened(p.video, maxName) + " " + clock(p.position)
		if p.length > 0 {
			text += " of " + clock(p.length)
		}
	}
	return text
}

// shortened is a name of at most so many characters, on one line.
func shortened(text string, most int) string {
	name := []rune(oneLine(text))
	if len(name) > most {
		name = append(name[:most-1], '…')
	}
	return string(name)
}
