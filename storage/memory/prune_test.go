package memory

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise/trigger"
)

// TestPruneForgetsDeadJobs: with an event go the jobs that nobody can claim any more.
func TestPruneForgetsDeadJobs(t *testing.T) {
	db, _ := Open(t.Context(), nil)
	m := &Trigger{db: db}
	s, _ := trigger.New(trigger.Backend{Store: m, Queue: db.Queue(nil)}, nil)
	w, _ := trigger.NewWorker(s, func(context.Context, trigger.Event) (trigger.Outcome, error) {
		return trigger.Outcome{}, trigger.Permanent(errors.New("x"))
	}, nil)
	for range 1000 {
		_, _ = s.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "a"})
		_, _ = w.RunOnce(t.Context())
	}
	n, err := s.Prune(t.Context(), time.Now().Add(time.Hour))
	if err != nil || n != 1000 || len(db.jobs.all) != 0 {
		t.Errorf("pruned %d events, %v; job rows left: %d", n, err, len(db.jobs.all))
	}
}
