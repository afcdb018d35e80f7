package trigger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-6363c74e/mortise/internal/hook"
	"github.com/seed-6363c74e/mortise/internal/oneline"
)

// runner calls the Processor and turns every way in which that can end into an outcome or
// an error.
type runner func(ctx context.Context, e Event) (Outcome, error)

// runHere calls the Processor on this goroutine.
func (w *Worker) runHere(ctx context.Context, e Event) (o Outcome, err error) {
	defer hook.Recover(ctx, w.service.opts.Logger, "LogError", &err)
	defer func() {
		if p := recover(); p != nil {
			o, err = Outcome{}, w.panicked(ctx, &e, "the processor", p)
		}
	}()
	o, err = w.processor(ctx, e)
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return o, err
}

// panicked logs a panic of the host's in an attempt, and returns it as an error.
func (w *Worker) panicked(ctx context.Context, e *Event, name string, p any) error {
	text := fmt.Sprint(p)
	if count := w.service.panicked.Add(e.Organization, w.service.opts.Now()); count > 0 {
		_ = hook.Panicked(ctx, w.service.opts.Logger, name, p, "text", w.service.loggedError(errors.New(text)),
			"event", e.ID, "organization", e.Organization, "attempt", e.Attempts, "count", count)
	}
	return errors.New(name + " panicked: " + text)
}

// errExited: the Processor called runtime.Goexit, as FailNow of a test does.
var errExited = errors.New("the processor ended its goroutine")

// runAside calls the Processor on a goroutine of its own, so that one that ignores the
// end of its context cannot hold its place for ever: Grace after the end it is left
// behind.
func (w *Worker) runAside(ctx context.Context, e Event) (Outcome, error) {
	type result struct {
		outcome Outcome
		err     error
	}
	done := make(chan result, 1)
	go func() {
		r := result{err: errExited}
		defer func() { done <- r }()
		r.outcome, r.err = w.runHere(ctx, e)
	}()
	select {
	case r := <-done:
		return r.outcome, r.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(w.opts.Grace)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.outcome, r.err
	case <-timer.C:
		return Outcome{}, fmt.Errorf("%w, and the processor did not stop within %v of being told so", context.Cause(ctx), w.opts.Grace)
	}
}

// check refuses what the history could not show.
func (o *Outcome) check() error {
	if !utf8.ValidString(o.Summary) {
		return Permanent(errors.New("the outcome's summary is not valid UTF-8"))
	}
	if o.Data != nil && !(json.Valid(o.Data) && utf8.Valid(o.Data)) {
		return Permanent(errors.New("the outcome's data is not valid JSON"))
	}
	return nil
}

// maxErrorText bounds LastError, in bytes.
const maxErrorText = 2048

// publicError is the text of a failure in the history.
func (s *Service) publicError(failure error) string { return textOf(failure, s.opts.PublicError) }

// loggedError is the text of a failure in the log.
func (s *Service) loggedError(failure error) (text string) {
	text = "LogError panicked"
	defer hook.Recover(context.Background(), s.opts.Logger, "LogError", nil)
	return oneline.Logged(textOf(failure, s.opts.LogError))
}

// textOf returns the text that a hook of the host's gives to a failure, if there is one.
func textOf(failure error, hosts func(error) string) string {
	if hosts == nil {
		hosts = error.Error
	}
	return boundText(hosts(failure))
}

// boundText makes a text fit for the history.
func boundText(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= maxErrorText {
		return text
	}
	cut := maxErrorText
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "..."
}
