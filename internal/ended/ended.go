// Package ended holds the part that the domains share of telling the end of work: the
// jobs of the host's own kinds that OnEnd of their Options returns.
package ended

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/failure"
	"github.com/seed-6363c74e/mortise/internal/hook"
)

// maxJobs is how many jobs tell of one end.
const maxJobs = 100

// kinds are the kinds of the domains.
var kinds = []string{"trigger", "audiosearch", "authmgmt", "vault"}

var errKind = errors.New("mortise: the kind of the job is the kind of a domain")

// Jobs asks onEnd, which may be nil, about a copy of work that has ended. It leaves out
// jobs that are not valid. Key and ID name the work in the log.
func Jobs[T interface{ Clone() T }](
	log *slog.Logger, onEnd func(T) []mortise.Job, work T, key string, id any,
) (jobs []mortise.Job) {
	if onEnd == nil {
		return nil
	}
	defer hook.Recover(context.Background(), log, "OnEnd", nil, key, id)
	jobs = onEnd(work.Clone())
	if len(jobs) > maxJobs {
		log.Error("OnEnd returned more jobs than it may", key, id, "jobs", len(jobs), "limit", maxJobs)
	}
	return slices.DeleteFunc(slices.Clone(jobs[:min(len(jobs), maxJobs)]), func(j mortise.Job) bool {
		err := j.Check()
		if err == nil && slices.Contains(kinds, j.Kind) {
			err = errKind
		}
		if err != nil {
			log.Error("a job of OnEnd is left out", key, id, "error", err)
		}
		return err != nil
	})
}

// Queue queues jobs of OnEnd.
func Queue(ctx context.Context, q mortise.Queue, jobs []mortise.Job) error {
	for _, j := range jobs {
		if err := failure.FromHook(q.Enqueue(ctx, j)); err != nil {
			return failure.Unavailable("queue a job of OnEnd", err)
		}
	}
	return nil
}
