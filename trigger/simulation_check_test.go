package trigger_test

import (
	"bytes"
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
)

func (s *simulation) name(id uuid.UUID) string {
	if r, ok := s.events[id]; ok {
		return r.name
	}
	return "no event"
}

// quiet reports whether every event is finished, and no end is still to be told.
func (s *simulation) quiet() bool {
	if untold, _ := s.db.Overdue(context.Background(), s.clock.Now().Add(10_000*time.Hour), 1); len(untold) > 0 {
		return false
	}
	for _, r := range s.order {
		if !r.status.Finished() && !s.deleted[r.org] {
			return false
		}
	}
	return true
}

// checkReused checks that an ErrIdempotencyKeyReused had a reason: another request with
// the key, within the window.
func (s *simulation) checkReused(c *submission, start time.Time) {
	for _, r := range s.order {
		other := r.call.sub.Instructions != c.sub.Instructions || !bytes.Equal(r.call.sub.Context, c.sub.Context) ||
			!r.call.sub.NotBefore.Equal(c.sub.NotBefore)
		if r.org == c.org && r.key == c.sub.IdempotencyKey && other && !r.submitted.Before(start.Add(-simWindow)) {
			return
		}
	}
	s.broken("key %q was refused as reused, and was not used", c.sub.IdempotencyKey)
}

// check looks whether the promises were kept, after settle.
func (s *simulation) check() {
	ctx := context.Background()
	s.checkAnswers(ctx)
	kept := 0
	for _, r := range s.order {
		e, err := s.db.Event(ctx, r.org, r.id)
		if s.deleted[r.org] {
			if err == nil {
				s.broken("%s is in the history, and %s was deleted", r.name, r.org)
			}
			continue
		}
		kept++
		if err != nil {
			s.broken("%s is not in the history: %v", r.name, err)
			continue
		}
		s.checkEvent(r, &e)
	}
	if left, _ := s.db.Overdue(ctx, s.clock.Now().Add(10_000*time.Hour), 10); len(left) != 0 {
		s.broken("%s is to wake at the end", s.name(left[0].ID))
	}
	s.clock.Advance(1000 * time.Hour)
	for s.work(s.procs[0]) { // a crash behind a cancellation leaves its job, with which nothing happens
	}
	claim := mortise.Claim{Token: uuid.New(), Kinds: []string{trigger.JobKind}, Limit: 10, TTL: time.Second}
	if left, _ := s.db.jobs.Claim(ctx, claim); len(left) != 0 {
		s.broken("%s has a job at the end", left[0].Job)
	}
	s.checkTold(ctx)
	known := 0
	for _, org := range []string{"org-0", "org-1"} {
		for e, err := range s.procs[0].service.Events(ctx, org, trigger.EventQuery{Limit: 7}) {
			if err != nil || s.events[e.ID] == nil || s.events[e.ID].org != org {
				s.broken("listing %s: %v %v", org, e.ID, err)
				return
			}
			known++
		}
	}
	if known != kept {
		s.broken("%d events were stored and %d are listed", kept, known)
	}
}

// checkTold: of each end the job of OnEnd is there, and no other one.
func (s *simulation) checkTold(ctx context.Context) {
	left := make(map[string]bool)
	jobs, _ := s.db.jobs.Claim(ctx, mortise.Claim{Token: uuid.New(), Kinds: []string{"told"}, Limit: 10_000, TTL: time.Second})
	for _, l := range jobs {
		left[l.Job.ID] = true
	}
	for _, r := range s.order {
		for _, id := range r.ends {
			if !left[id] && !s.deleted[r.org] {
				s.broken("%s has ended, and %s does not tell of it", r.name, id)
			}
			delete(left, id)
		}
	}
	for id := range left {
		s.broken("job %s tells of an end that never was", id)
	}
}

// checkAnswers: every 202 is in the history as submitted and was processed, and one key
// in one window has one event.
func (s *simulation) checkAnswers(ctx context.Context) {
	type keyOf struct{ org, key string }
	byKey := make(map[keyOf][]*eventRecord)
	unkeyed := make(map[uuid.UUID]bool)
	for _, a := range s.answers {
		r := s.events[a.id]
		if r == nil {
			s.broken("a 202 for an event that was never stored")
			continue
		}
		if s.deleted[a.org] {
			continue
		}
		e, err := s.db.Event(ctx, a.org, a.id)
		if err != nil || e.Instructions != a.sub.Instructions || !bytes.Equal(e.Context, a.sub.Context) {
			s.broken("%s got a 202 and is in the history as %q %s, %v", r.name, e.Instructions, e.Context, err)
		}
		if r.refused {
			s.broken("%s got a 202 and an ErrEnqueueFailed", r.name)
		}
		if !e.Status.Finished() {
			s.broken("%s got a 202 and is %s at the end", r.name, e.Status)
		}
		entered, worn := 0, false
		for g := range e.Generation + 1 {
			entered += r.entered[g]
			worn = worn || r.lost[g] == s.maxAttempts
		}
		// An attempt counts before it runs. If each one's worker died in between, that
		// cannot be told from work that kills workers.
		if entered == 0 && !worn && e.Status != trigger.StatusCancelled {
			s.broken("%s got a 202 and was never processed", r.name)
		}
		if a.sub.IdempotencyKey == "" {
			if unkeyed[a.id] {
				s.broken("%s answers two submissions without a key", r.name)
			}
			unkeyed[a.id] = true
			continue
		}
		k := keyOf{a.org, a.sub.IdempotencyKey}
		for _, other := range byKey[k] {
			// By the time of storing, because a Submit can take so long that the earlier
			// key expires under it.
			first, second := other, r
			if second.number < first.number {
				first, second = second, first
			}
			if first != second && second.stored.Sub(first.submitted) <= simWindow {
				s.broken("%s and %s both got a 202 for key %q within the window", first.name, second.name, k.key)
			}
		}
		byKey[k] = append(byKey[k], r)
	}
}

// checkEvent: what holds of every event at the end, whatever was answered.
func (s *simulation) checkEvent(r *eventRecord, e *trigger.Event) {
	if !e.Status.Finished() || !e.DueAt.IsZero() {
		s.broken("%s is %s at the end, due at %v", r.name, e.Status, e.DueAt)
	}
	if e.Status == trigger.StatusCancelled && e.Outcome != nil {
		s.broken("%s was cancelled and has an outcome", r.name)
	}
	log := e.AttemptsLog()
	for i, a := range log {
		if succeeded := e.Status == trigger.StatusCompleted && i == len(log)-1; a.EndedAt.Before(a.StartedAt) || (a.Error == "") != succeeded {
			s.broken("%s is %s, and its log has the attempt %+v", r.name, e.Status, a)
		}
	}
	if rows := s.db.rows(r.id); s.applies && (rows == 1) != (e.Status == trigger.StatusCompleted) || rows > 1 {
		s.broken("%s is %s, and Apply has written %d rows", r.name, e.Status, rows)
	}
	if r.completions > 1 {
		s.broken("%s completed %d times", r.name, r.completions)
	}
	if (e.Status == trigger.StatusCompleted) != (e.Outcome != nil) {
		s.broken("%s is %s with outcome %v", r.name, e.Status, e.Outcome)
	}
	if e.Status == trigger.StatusFailed && e.LastError == "" {
		s.broken("%s failed without saying why", r.name)
	}
	if r.refused {
		if r.entered[0] > 0 {
			s.broken("%s was refused with ErrEnqueueFailed and was processed", r.name)
		}
		if e.Generation == 0 && e.Status != trigger.StatusFailed || e.IdempotencyKey != "" {
			s.broken("%s was refused with ErrEnqueueFailed and is %s with key %q", r.name, e.Status, e.IdempotencyKey)
		}
	}
	if e.FinishedAt.Before(e.SubmittedAt) || e.FinishedAt.Before(e.StartedAt) || e.Attempts > 0 && e.StartedAt.Before(e.SubmittedAt) {
		s.broken("%s: submitted %v, started %v, finished %v", r.name, e.SubmittedAt, e.StartedAt, e.FinishedAt)
	}
}
