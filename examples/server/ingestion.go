package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/ingest"
	"github.com/seed-6363c74e/mortise/storage/provision"
)

// ingestion has the videos of provisioned datasets scored in the background, once the
// server listens. It tells how far it is: by a progress bar on a terminal, by log lines
// elsewhere.
type ingestion struct {
	*ingest.Ingestion
	log      *slog.Logger
	screen   *console       // where the bar is; nil: nowhere. It is set before anything runs.
	seldom   rate.Sometimes // log lines
	mu       sync.Mutex
	datasets []ingest.Dataset // to look at; complete before run begins
}

// logEvery is how often it is logged how far it is where no bar shows it.
const logEvery = time.Minute

func newIngestion(log *slog.Logger) *ingestion {
	in := &ingestion{log: log, seldom: rate.Sometimes{Interval: logEvery}}
	in.Ingestion = ingest.New(&ingest.Options{Logger: log, Progress: func(p ingest.Progress) { in.screen.show(bar(&p)) }})
	return in
}

// add adds datasets to look at, before run.
func (in *ingestion) add(datasets []provision.Dataset) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, d := range datasets {
		in.datasets = append(in.datasets, ingest.Dataset(d))
	}
}

// run looks at all datasets. It returns when ctx ends, if not before.
func (in *ingestion) run(ctx context.Context, service *audiosearch.Service) {
	if len(in.datasets) > 0 {
		in.seldom.Do(func() {}) // the first line comes when it has taken a while
	}
	in.Run(ctx, service, provision.Actor, in.datasets)
}

// observe hears of the work of the sound search.
func (in *ingestion) observe(ctx context.Context, o mortise.Observation) {
	in.Observe(ctx, o)
	d, _ := o.Detail.(audiosearch.Detail)
	about := []any{"organization", o.Organization, "dataset", d.Dataset}
	switch {
	case in.screen.shows():
	case o.Kind == mortise.KindIngested:
		seconds := float64(o.Duration.Round(time.Millisecond).Milliseconds()) / 1000 // three digits after the point at most
		in.log.InfoContext(ctx, "video scored", append(about, "video", o.Object, "sound", clock(d.Length), "seconds", seconds)...)
	case o.Kind == mortise.KindScoring:
		about = append(about, "model", d.Model, "done", d.Done, "total", d.Total)
		if d.Sound.Done > 0 || d.Sound.Total > 0 {
			about = append(about, "sound", soundInWords(d.Sound, "", "x", ", about "))
		}
		in.seldom.Do(func() { in.log.InfoContext(ctx, "scoring videos", about...) })
	}
}

// bar shows progress on one short line, and "" if there is nothing to do. What is not
// known is not there; the sound in all, and so the time that is left, are estimates.
func bar(p *ingest.Progress) string {
	if p.Total == 0 {
		return ""
	}
	const width, maxName = 24, 20
	share := float64(p.Done) / float64(p.Total)
	if p.Sound.Total > 0 { // which is what takes time
		share = float64(p.Sound.Done) / float64(p.Sound.Total)
	}
	filled := int(width * min(share, 1))
	text := "Scoring videos "
	if p.Model != "" {
		text += "by " + shortened(p.Model, maxName) + " "
	}
	text += fmt.Sprintf("[%s%s] %d of %d", strings.Repeat("#", filled), strings.Repeat(".", width-filled), p.Done, p.Total)
	switch {
	case p.Sound.Done > 0 || p.Sound.Total > 0:
		text += "  " + soundInWords(p.Sound, "", "x", ", about ")
	case p.Video != "":
		text += "  " + shortened(p.Video, maxName) + " " + clock(p.Position)
		if p.Length > 0 {
			text += " of " + clock(p.Length)
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
