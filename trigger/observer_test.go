package trigger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

func kinds(f *triggertest.Fake) (kinds []mortise.Kind) {
	for _, o := range f.Observations() {
		kinds = append(kinds, o.Kind)
	}
	return kinds
}

func TestObservations(t *testing.T) {
	var f *triggertest.Fake
	next := returning(errWork, nil, trigger.Permanent(errWork))
	f = triggertest.New(t, &triggertest.Options{Processor: func(ctx context.Context, e trigger.Event) (trigger.Outcome, error) {
		f.Advance(2 * time.Second)
		return next(ctx, e)
	}})
	sub := trigger.Submission{Instructions: "a", IdempotencyKey: "k"}
	e, err := f.Submit(t.Context(), "acme", "", sub)
	require.NoError(t, err)
	_, err = f.Submit(t.Context(), "acme", "", sub)
	require.NoError(t, err)
	_, err = f.Submit(t.Context(), "acme", "", trigger.Submission{})
	require.Error(t, err)
	f.Advance(time.Second)
	f.Drain(t.Context())
	f.Advance(time.Minute)
	f.Drain(t.Context())
	second := submit(t, f.Service, "b")
	f.Drain(t.Context())

	observed := f.Observations()
	require.Equal(t, []mortise.Kind{
		mortise.KindSubmitted, mortise.KindReplayed, mortise.KindRefused, mortise.KindStarted, mortise.KindRetrying,
		mortise.KindStarted, mortise.KindCompleted, mortise.KindSubmitted, mortise.KindStarted, mortise.KindFailed,
	}, kinds(f))
	for i, o := range observed {
		assert.Equal(t, "acme", o.Organization, "observation %d", i)
		assert.Equal(t, "trigger", o.Service, "observation %d", i)
	}
	assert.Equal(t, e.ID.String(), observed[1].Object)
	assert.Empty(t, observed[2].Object)
	assert.Equal(t, mortise.ReasonInvalid, observed[2].Reason)
	require.Error(t, observed[2].Err)
	assert.Equal(t, time.Second, observed[3].Wait, "since it was submitted")
	assert.Equal(t, 1, observed[3].Attempt)
	assert.Equal(t, 2*time.Second, observed[4].Duration, "of the attempt")
	require.ErrorIs(t, observed[4].Err, errWork, "the processor's own error")
	assert.Equal(t, mortise.ReasonFailed, observed[4].Reason)
	assert.Positive(t, observed[4].Wait, "until the next attempt")
	assert.Zero(t, observed[5].Wait, "of the first attempt alone")
	assert.Equal(t, 2, observed[6].Attempt)
	require.NoError(t, observed[6].Err)
	assert.Equal(t, second.ID.String(), observed[9].Object)
	require.ErrorIs(t, observed[9].Err, errWork)
}

func TestRefusedIsObservedWithoutAnEvent(t *testing.T) {
	f := triggertest.New(t, &triggertest.Options{SeparateQueue: true})
	f.Break(triggertest.QueuePart)
	_, err := f.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "a"})
	require.Error(t, err)
	require.Equal(t, []mortise.Kind{mortise.KindRefused}, kinds(f))
	require.ErrorIs(t, f.Observations()[0].Err, trigger.ErrEnqueueFailed)
}

func TestNoRequestContentIsObservedOrLogged(t *testing.T) {
	var logs bytes.Buffer
	f := triggertest.New(t, &triggertest.Options{
		SeparateQueue: true, Processor: returning(errWork),
		Service: trigger.Options{Env: mortise.Env{Logger: slog.New(slog.NewTextHandler(&logs, &slog.HandlerOptions{Level: slog.LevelDebug}))}},
	})
	sub := trigger.Submission{Instructions: "private", Context: json.RawMessage(`{"private":1}`)}
	for _, part := range []triggertest.Part{"", triggertest.QueuePart, triggertest.StorePart} {
		heal := f.Break(part)
		_, _ = f.Submit(t.Context(), "acme", "", sub)
		f.Drain(t.Context())
		heal()
	}
	sub.Context = json.RawMessage(`{"private":1,"private":2}`)
	_, err := f.Submit(t.Context(), "acme", "", sub)
	require.Error(t, err)
	assert.NotContains(t, fmt.Sprintf("%+v", f.Observations()), "private")
	assert.NotContains(t, logs.String(), "private")
}

// tracer is a Tracer whose trace is a word in the context.
type tracer struct {
	ended []string
	works []mortise.Work
}

type word struct{}

func (*tracer) Inject(ctx context.Context, carrier map[string]string) {
	if w, ok := ctx.Value(word{}).(string); ok {
		carrier["w"] = w
	}
}

func (tr *tracer) Start(ctx context.Context, w mortise.Work, carrier map[string]string) (context.Context, func(error)) {
	tr.works = append(tr.works, w)
	return context.WithValue(ctx, word{}, carrier["w"]), func(err error) {
		tr.ended = append(tr.ended, fmt.Sprintf("%s %s: %v", w.Op, carrier["w"], err))
	}
}

func TestTraceCrossesTheQueue(t *testing.T) {
	tr, seen := new(tracer), ""
	next := returning(errWork, nil)
	f := triggertest.New(t, &triggertest.Options{
		Service: trigger.Options{Env: mortise.Env{Tracer: tr}},
		Processor: func(ctx context.Context, e trigger.Event) (trigger.Outcome, error) {
			seen, _ = ctx.Value(word{}).(string)
			return next(ctx, e)
		},
	})
	e, err := f.Submit(context.WithValue(t.Context(), word{}, "mine"), "acme", "", trigger.Submission{Instructions: "a"})
	require.NoError(t, err)
	f.Drain(t.Context())
	waits := f.History()[0]
	f.Advance(time.Minute)
	f.Drain(t.Context())
	assert.Equal(t, "mine", seen)
	assert.Equal(t, []string{"trigger.process mine: the work failed", "trigger.process mine: <nil>"}, tr.ended)
	work := mortise.Work{Op: "trigger.process", Kind: trigger.JobKind, Organization: "acme", ID: e.ID.String(), Attempt: 1, Due: e.SubmittedAt}
	retried := work
	retried.Attempt, retried.Due = 2, waits.DueAt
	assert.Equal(t, []mortise.Work{work, retried}, tr.works)

	submit(t, f.Service, "without a trace")
	f.Drain(t.Context())
	assert.Empty(t, seen)
	assert.Nil(t, f.History()[1].Trace)
}

func TestTraceIsBounded(t *testing.T) {
	var logs bytes.Buffer
	f := triggertest.New(t, &triggertest.Options{Service: trigger.Options{Env: mortise.Env{Tracer: new(tracer), Logger: slog.New(slog.NewTextHandler(&logs, nil))}}})
	for _, size := range []int{1023, 1024} {
		ctx := context.WithValue(t.Context(), word{}, strings.Repeat("x", size))
		_, err := f.Submit(ctx, "acme", "", trigger.Submission{Instructions: "a"})
		require.NoError(t, err, "a trace never stops a request")
		f.Advance(time.Second)
	}
	assert.Len(t, f.History()[0].Trace["w"], 1023)
	assert.Nil(t, f.History()[1].Trace, "over 1 KiB with its key")
	assert.Contains(t, logs.String(), "trace carrier dropped")
}

func TestTracerHearsOfBadOutcomes(t *testing.T) {
	tr := new(tracer)
	f := triggertest.New(t, &triggertest.Options{
		Service: trigger.Options{Env: mortise.Env{Tracer: tr}},
		Processor: func(context.Context, trigger.Event) (trigger.Outcome, error) {
			return trigger.Outcome{Summary: "\xff"}, nil
		},
	})
	submit(t, f.Service, "a")
	f.Drain(t.Context())
	require.Len(t, tr.ended, 1)
	assert.Contains(t, tr.ended[0], "UTF-8")
}

func TestObservationsSayWho(t *testing.T) {
	f := triggertest.New(t, &triggertest.Options{Directory: true, Processor: returning(trigger.Permanent(errWork))})
	require.NoError(t, f.UpdateOrganization(t.Context(), "acme", "jan", func(o *trigger.Organization) error {
		o.SetupComplete = true
		o.SetCollection(uuid.New(), true)
		return nil
	}))
	sub := trigger.Submission{Instructions: "a", IdempotencyKey: "k"}
	e, err := f.Submit(t.Context(), "acme", "ann", sub)
	require.NoError(t, err)
	_, err = f.Submit(t.Context(), "acme", "ben", sub)
	require.NoError(t, err)
	_, err = f.Submit(t.Context(), "acme", "cleo", trigger.Submission{})
	require.Error(t, err)
	f.Drain(t.Context())
	_, err = f.Retry(t.Context(), "acme", "dan", e.ID)
	require.NoError(t, err)
	_, err = f.Retry(t.Context(), "acme", "dan", e.ID)
	require.ErrorIs(t, err, trigger.ErrNotRetryable)
	issued, _, err := f.IssueKey(t.Context(), "acme", "eve", "")
	require.NoError(t, err)
	imported, err := f.ImportKey(t.Context(), "acme", "fay", "", "0123456789abcdef0123456789abcdef")
	require.NoError(t, err)
	for _, by := range []mortise.Actor{"gus", "hal"} {
		require.NoError(t, f.RevokeKey(t.Context(), "acme", by, issued.ID))
	}
	require.ErrorIs(t, f.RevokeKey(t.Context(), "other", "ida", imported.ID), mortise.ErrNotFound)
	require.ErrorIs(t, f.UpdateOrganization(t.Context(), "acme", "kim", func(*trigger.Organization) error { return errWork }), errWork)

	type said struct {
		kind   mortise.Kind
		by     mortise.Actor
		object string
	}
	var observed []said
	for _, o := range f.Observations() {
		assert.Equal(t, "acme", o.Organization)
		observed = append(observed, said{o.Kind, o.Actor, o.Object})
	}
	require.Equal(t, []said{
		{kind: mortise.KindOrganizationUpdated, by: "jan"},
		{kind: mortise.KindSubmitted, by: "ann", object: e.ID.String()},
		{kind: mortise.KindReplayed, by: "ben", object: e.ID.String()},
		{kind: mortise.KindRefused, by: "cleo"},
		{kind: mortise.KindStarted, object: e.ID.String()},
		{kind: mortise.KindFailed, object: e.ID.String()},
		{kind: mortise.KindRetried, by: "dan", object: e.ID.String()},
		{kind: mortise.KindKeyIssued, by: "eve", object: issued.ID.String()},
		{kind: mortise.KindKeyIssued, by: "fay", object: imported.ID.String()},
		{kind: mortise.KindKeyRevoked, by: "gus", object: issued.ID.String()},
	}, observed)
}
