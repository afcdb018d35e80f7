package httpadapter

import (
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
		Attempts: e.Attempts,
	}
	if e.LastError != "" {
		w.LastError = &e.LastError
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
	var d decoder
	id := newParams(&d, c.r).pathUUID(c.r, "id")
	if len(d.details) > 0 {
		return *c.refuse(problem{kind: invalid, details: d.details})
	}
	if failed := t.h.authorize(c, id.String()); failed != nil {
		return *failed
	}
	e, err := t.service.Event(c.r.Context(), c.principal.Organization, id)
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
	statuses := make([]string, 0, 4)
	for _, status := range trigger.Statuses() {
		statuses = append(statuses, string(status))
	}
	q.Status = trigger.Status(p.enum("status", statuses))
	q.Source = p.text("source")
	q.From = p.instant("from")
	q.To = p.instant("to")
	return q, d
}
