package audiosearch

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/failure"
	"github.com/seed-6363c74e/mortise/internal/hook"
)

// Detail is the Detail of the Observations of this package. Err of an Observation may
// hold names of files.
type Detail struct {
	Dataset     string
	Class       sound.Class // of runs and searches
	Model       string      // the ID of the model that scores or has scored; "" for runs
	Termination Termination // of a run that ended

	Position, Length time.Duration // of a video's sound: what is scored, and all; 0: not known
	Done, Total      int           // videos of the dataset: looked at by Model, and all
	Sound            SoundProgress // of the videos that Model lacked when the Ingest began
}

func (s *Service) observe(ctx context.Context, o mortise.Observation) {
	o.Service, o.Reason = "audiosearch", failure.Reason(o.Err, reasons)
	hook.Observe(ctx, &s.opts.Env, s.store, !slices.Contains(noChanges, o.Kind), o)
}

// observation begins an observation of a run.
func (r *Run) observation(kind mortise.Kind) mortise.Observation {
	return mortise.Observation{
		Kind: kind, Organization: r.Organization, Actor: r.Actor, Object: strconv.FormatInt(r.ID, 10), Attempt: r.Attempts,
		Detail: Detail{Dataset: r.Query.Dataset, Class: r.Query.Class, Termination: r.Termination},
	}
}

// noChanges: the kinds that change nothing, or report progress.
var noChanges = []mortise.Kind{mortise.KindSearched, mortise.KindIngesting, mortise.KindScoring, mortise.KindUnchanged, mortise.KindNotIngested}
