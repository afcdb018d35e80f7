package httpadapter

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/pages"
	"github.com/seed-6363c74e/mortise/trigger"
)

// TriggerEvent is an event of the trigger history as it goes over the wire: for a host,
// too, that hands events to another program.
type TriggerEvent struct {
	ID           uuid.UUID       `json:"trigger_event_id"`
	Status       trigger.Status  `json:"status"`
	Source       string          `json:"source"`
	Instructions string          `json:"instructions"`
	Context      json.RawMessage `json:"context"` // null if there was none
	SubmittedAt  Timestamp       `json:"submitted_at"`
	StartedAt    Timestamp       `json:"started_at"`
	FinishedAt   Timestamp       `json:"finished_at"`
	Attempts     int             `json:"attempts"`
	LastError    *string         `json:"last_error"` // see trigger.Options.PublicError
	Outcome      *TriggerOutcome `json:"outcome"`

	DueAt        Timestamp        `json:"due_at"`        // see trigger.Event.DueAt; null once ended
	SubmittedBy  *string          `json:"submitted_by"`  // null without an actor
	Generation   int              `json:"generation"`    // 0, and one more after each retry and run by hand
	SupersededBy *uuid.UUID       `json:"superseded_by"` // the newer event that ended this one; null for none
	AttemptsLog  []TriggerAttempt `json:"attempts_log"`  // the newest ten, oldest first
}

// TriggerAttempt is one attempt at an event.
type TriggerAttempt struct {
	Attempt   int       `json:"attempt"` // from 1 in each generation
	StartedAt Timestamp `json:"started_at"`
	EndedAt   Timestamp `json:"ended_at"` // null while it runs
	Error     *string   `json:"error"`    // as last_error; null for none
}

// TriggerOutcome is what a completed event came to.
type TriggerOutcome struct {
	Summary string          `json:"summary"`
	Data    json.RawMessage `json:"data"` // null if there was none
}

// NewTriggerEvent returns the wire form of an event.
func NewTriggerEvent(e trigger.Event) TriggerEvent {
	w := TriggerEvent{
		ID: e.ID, Status: e.Status, Source: e.Source, Instructions: e.Instructions, Context: e.Context,
		SubmittedAt: Timestamp(e.SubmittedAt), StartedAt: Timestamp(e.StartedAt), FinishedAt: Timestamp(e.FinishedAt),
		Attempts: e.Attempts, LastError: orNull(e.LastError),
		DueAt: Timestamp(e.DueAt), SubmittedBy: orNull(string(e.Actor)), Generation: e.Generation, AttemptsLog: []TriggerAttempt{},
	}
	if e.SupersededBy != uuid.Nil {
		w.SupersededBy = &e.SupersededBy
	}
	for _, a := range e.AttemptsLog() {
		w.AttemptsLog = append(w.AttemptsLog, TriggerAttempt{a.Number, Timestamp(a.StartedAt), Timestamp(a.EndedAt), orNull(a.Error)})
	}
	if e.Outcome != nil {
		w.Outcome = &TriggerOutcome{Summary: e.Outcome.Summary, Data: e.Outcome.Data}
	}
	return w
}

// JSON returns the event as one line of JSON, its context as submitted but for space
// between tokens.
func (e TriggerEvent) JSON() ([]byte, error) { return jsonBody(e) }

// get is getTrigger.
func (t *triggerAdapter) get(c *call) response {
	return t.one(c, func(ctx context.Context, org string, _ mortise.Actor, id uuid.UUID) (trigger.Event, error) {
		return t.service.Event(ctx, org, id)
	})
}

// cancel, retry and run are cancelTrigger, retryTrigger and runTrigger.
func (t *triggerAdapter) cancel(c *call) response { return t.one(c, t.service.Cancel) }
func (t *triggerAdapter) retry(c *call) response  { return t.one(c, t.service.Retry) }
func (t *triggerAdapter) run(c *call) response    { return t.one(c, t.service.RunNow) }

// one answers with the event that do returns for the one of the path.
func (t *triggerAdapter) one(
	c *call, do func(ctx context.Context, org string, by mortise.Actor, id uuid.UUID) (trigger.Event, error),
) response {
	var d decoder
	id := newParams(&d, c.r).pathUUID(c.r, "id")
	if len(d.details) > 0 {
		return *c.refuse(problem{kind: invalid, details: d.details})
	}
	if failed := t.h.authorize(c, id.String()); failed != nil {
		return *failed
	}
	e, err := do(c.r.Context(), c.principal.Organization, mortise.Actor(c.principal.Subject), id)
	if err != nil {
		return t.h.fail(c, err)
	}
	body, err := NewTriggerEvent(e).JSON()
	if err != nil {
		return t.h.fail(c, err)
	}
	return response{status: http.StatusOK, body: body}
}

// listBytes is the length of a page, in bytes, after which it ends early.
const listBytes = 4 << 20

// list is listTriggers.
func (t *triggerAdapter) list(c *call) response {
	q, d := listQuery(c.r)
	if len(d.details) > 0 {
		return *c.refuse(problem{kind: invalid, details: d.details})
	}
	if failed := t.h.authorize(c, ""); failed != nil {
		return *failed
	}
	left, written, begun := q.Limit, 0, false
	return t.h.list(c, `{"triggers":[`, func(b *listStep) error {
		q.Limit, q.Bytes = min(left, stepItems), stepBytes
		page, err := t.service.ListEvents(c.r.Context(), c.principal.Organization, q)
		if err != nil {
			return err
		}
		for i := range page.Items {
			err := b.item(NewTriggerEvent(page.Items[i]))
			if errors.Is(err, errNoRoom) && begun { // the next page begins with this step
				b.undo()
				b.end(`],"next_cursor":"` + string(q.After) + `"}`)
				return nil
			}
			if err != nil {
				return err
			}
		}
		written, begun = written+b.body.Len(), true
		left -= len(page.Items)
		q.After = page.Next
		switch {
		case page.Next == "":
			b.end(`],"next_cursor":null}`)
		case left <= 0, written > listBytes:
			b.end(`],"next_cursor":"` + string(page.Next) + `"}`)
		}
		return nil
	})
}

// listQuery reads the parameters of listTriggers, in the order in which the document
// declares them.
func listQuery(r *http.Request) (trigger.EventQuery, *decoder) {
	d := new(decoder)
	p := newParams(d, r)
	var q trigger.EventQuery
	q.Limit = int(p.integer("limit", 50, 1, mortise.MaxPageSize))
	q.After = mortise.Cursor(p.text("cursor"))
	if _, _, _, err := pages.ByUUID(q.After); err != nil {
		p.refuse("cursor", "value_error", msgValue+"not a cursor that this service gave out")
	}
	readFilters(p, &q)
	return q, d
}

// readFilters reads the parameters that select events.
func readFilters(p params, q *trigger.EventQuery) {
	var statuses []string
	for _, status := range trigger.Statuses() {
		statuses = append(statuses, string(status))
	}
	q.Status = trigger.Status(p.enum("status", statuses))
	q.Source = p.text("source")
	q.From = p.instant("from")
	q.To = p.instant("to")
}
