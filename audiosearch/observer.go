package audiosearch

import (
	"context"
	"slices"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/hook"
)

// Observer hears of what the service and its workers do: for metrics, alerts or a
// progress bar. It is called on the goroutine that did it, after it is done (KindScoring:
// on one of its own), must be safe for concurrent use, and should return quickly.
//
// It hears of a change in a transaction of the host's ([mortise.HostTx]) once that is
// committed, on any goroutine, with a context that is not part of it, and never if it is
// rolled back, or if the store does not learn of the commit. It hears at once of searches in
// process, of progress, and of videos that get no scores.
type Observer func(ctx context.Context, o Observation)

// Kind is what was done.
type Kind string

// The kinds.
const (
	KindDatasetCreated Kind = "dataset_created" // a dataset was made
	KindDatasetDeleted Kind = "dataset_deleted" // a dataset was deleted

	KindOrganizationDeleted Kind = "organization_deleted" // an organization was marked as deleted

	KindSubmitted   Kind = "submitted"    // a run was accepted
	KindStarted     Kind = "started"      // an attempt begins; Duration: how long the run has waited
	KindRetrying    Kind = "retrying"     // an attempt failed, with Err; there will be another
	KindTerminated  Kind = "terminated"   // a run ended; Err is nil if Termination is Success
	KindCancelled   Kind = "cancelled"    // somebody asked for a run to be cancelled
	KindSearched    Kind = "searched"     // a search in process
	KindIngesting   Kind = "ingesting"    // a video is being scored: Position of Length are done; about once a second
	KindScoring     Kind = "scoring"      // of Ingest at work: Done, Total, Sound; once a second
	KindIngested    Kind = "ingested"     // a video was scored; Err, if there is one, says why not all of it
	KindUnchanged   Kind = "unchanged"    // a video was looked at, and its scores are those of its file; Err as above
	KindNotIngested Kind = "not_ingested" // a video could not be scored: Err says why
)

// Observation is one thing that was done. It holds no secret, but Err may hold names of
// files.
type Observation struct {
	Kind         Kind
	Organization string
	Dataset      string
	RunID        int64       // 0 if it is not about a run
	Video        string      // "" if it is not about a video
	Actor        Actor       // who asked, "" if it is not known
	Class        sound.Class // of runs and searches
	Model        string      // the ID of that which scores or has scored; "" for runs
	Termination  Termination
	Attempt      int

	Position, Length time.Duration // of a video's sound: what is scored, and all; 0: not known
	Duration         time.Duration // of what was done
	Done, Total      int           // videos of the dataset: looked at by Model, and all
	Sound            SoundProgress // of the videos that Model lacked when the Ingest began
	Err              error
}

func (s *Service) observe(ctx context.Context, o Observation) {
	if s.opts.Observer == nil {
		return
	}
	change := !slices.Contains(noChanges, o.Kind)
	hook.Observe(ctx, s.opts.Logger, s.store, change, func(ctx context.Context) { s.opts.Observer(ctx, o) })
}

// noChanges: the kinds that change nothing, or report progress.
var noChanges = []Kind{KindSearched, KindIngesting, KindScoring, KindUnchanged, KindNotIngested}
