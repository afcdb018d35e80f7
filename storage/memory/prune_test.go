package memory_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

// tables is what the package keeps in a field, by reflection: for a test within the package
// all suites, which import it, would be compiled once more.
func tables(db *memory.DB, fields ...string) reflect.Value {
	v := reflect.ValueOf(db).Elem().FieldByName("kept").Elem()
	for _, name := range fields {
		v = v.FieldByName(name)
	}
	return v
}

// TestPruneForgetsDeadJobs: with an event go the jobs that nobody can claim any more.
func TestPruneForgetsDeadJobs(t *testing.T) {
	db, _ := memory.Open(t.Context(), nil)
	s, _ := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: db.Queue(nil)}, nil)
	w, _ := trigger.NewWorker(s, func(context.Context, trigger.Event) (trigger.Outcome, error) {
		return trigger.Outcome{}, trigger.Permanent(errors.New("x"))
	}, nil)
	for range 1000 {
		_, _ = s.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "a"})
		_, _ = w.RunOnce(t.Context())
	}
	jobs := func() int { return tables(db, "jobs", "all").Len() }
	if jobs() != 1000 {
		t.Errorf("%d job rows of 1000 events", jobs())
	}
	n, err := s.Prune(t.Context(), trigger.StatusFailed, time.Now().Add(time.Hour))
	if err != nil || n != 1000 || jobs() != 0 {
		t.Errorf("pruned %d events, %v; job rows left: %d", n, err, jobs())
	}
}
