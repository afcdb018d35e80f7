package trigger_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// secretText is in the instructions of every event here, and must be in no log but by
// the Processor's own error.
const secretText = "the plan for Q3"

// hooks are a Processor, an observer and a tracer. What is named by broken panics.
type hooks struct {
	broken   string
	attempts int
}

func (h *hooks) call(name string) {
	if h.broken == name {
		panic("cannot work on " + secretText)
	}
}

func (h *hooks) observe(context.Context, mortise.Observation) { h.call("Observe") }

func (h *hooks) Inject(_ context.Context, carrier map[string]string) {
	carrier["traceparent"] = "00"
	h.call("Inject")
}

func (h *hooks) Start(ctx context.Context, _ mortise.Work, _ map[string]string) (context.Context, func(error)) {
	h.call("Start")
	return ctx, func(error) { h.call("end") }
}

// process fails the first attempt and succeeds then.
func (h *hooks) process(context.Context, trigger.Event) (trigger.Outcome, error) {
	if h.attempts++; h.attempts > 1 {
		return trigger.Outcome{}, nil
	}
	h.call("Process")
	return trigger.Outcome{}, errors.New("not yet")
}

// A panic of the Processor is a failed attempt, and is logged with its text and its stack. A
// panic of an observer or a tracer changes nothing, and is logged with its stack and nothing
// of the event.
func TestPanicsOfHooks(t *testing.T) {
	for _, broken := range []string{"", "Observe", "Inject", "Start", "end", "Process"} {
		t.Run(broken, func(t *testing.T) {
			var logged bytes.Buffer
			h := &hooks{broken: broken}
			f := triggertest.New(t, &triggertest.Options{
				Processor: h.process,
				Service:   trigger.Options{Env: mortise.Env{Observer: h.observe, Tracer: h, Logger: slog.New(slog.NewTextHandler(&logged, nil))}},
			})
			e := submit(t, f.Service, secretText)
			f.Drain(t.Context())
			f.Advance(time.Minute)
			f.Drain(t.Context())
			e = get(t, f.Service, e.ID)
			assert.Equal(t, trigger.StatusCompleted, e.Status)
			if broken == "Process" {
				assert.Equal(t, "the processor panicked: cannot work on "+secretText, e.LastError)
			} else {
				assert.Equal(t, "not yet", e.LastError)
			}
			if broken == "" {
				assert.NotContains(t, logged.String(), "level=ERROR")
				return
			}
			assert.Contains(t, logged.String(), "level=ERROR")
			assert.Contains(t, logged.String(), "hooks).call", "its stack")
			assert.Equal(t, broken == "Process", strings.Contains(logged.String(), secretText))
		})
	}
}

// lockedBuffer is written by a worker and read by the test.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// nilError is an error that cannot be printed when it is nil, as is often returned by
// mistake.
type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

// A worker that runs outlives the panics of all that a host has plugged into it, and of the
// errors that it returns: each costs an attempt, and all events end.
func TestWorkerOutlivesPanics(t *testing.T) {
	boom, panics := func(error) string { panic("boom") }, func() error { panic("boom") }
	for name, test := range map[string]struct {
		process func() error
		worker  trigger.WorkerOptions
		service trigger.Options
	}{
		"Processor":              {process: panics},
		"Backoff":                {worker: trigger.WorkerOptions{Backoff: func(int) time.Duration { panic("boom") }}},
		"PublicError":            {service: trigger.Options{PublicError: boom}},
		"LogError":               {service: trigger.Options{LogError: boom}},
		"Processor and LogError": {process: panics, service: trigger.Options{LogError: boom}},
		"an error":               {process: func() error { return (*nilError)(nil) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var logged lockedBuffer
				db := openMemory(t)
				test.service.Logger = slog.New(slog.NewTextHandler(&logged, nil))
				s, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: db.Queue(nil)}, &test.service)
				require.NoError(t, err)
				test.worker.Concurrency, test.worker.MaxAttempts = 2, 2
				var calls atomic.Int64
				w, err := trigger.NewWorker(s, func(context.Context, trigger.Event) (trigger.Outcome, error) {
					calls.Add(1)
					if test.process != nil {
						return trigger.Outcome{}, test.process()
					}
					return trigger.Outcome{}, errors.New("no")
				}, &test.worker)
				require.NoError(t, err)
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- w.Run(ctx) }()
				for range 6 {
					submit(t, s, secretText)
				}
				time.Sleep(time.Minute)
				stop()
				require.NoError(t, <-ended)
				assert.EqualValues(t, 2*6, calls.Load())
				for e, err := range s.Events(t.Context(), "acme", trigger.EventQuery{}) {
					require.NoError(t, err)
					assert.Equal(t, trigger.StatusFailed, e.Status)
				}
				assert.Contains(t, logged.String(), `level=ERROR msg="a hook panicked"`)
			})
		})
	}
}

// A dead letter is logged at WARN: which event, whose, after how many attempts, and why, also
// where the history does not say so.
func TestDeadLetterIsLogged(t *testing.T) {
	away := errors.New("the wiki is\naway")
	for name, failure := range map[string]error{"permanent": trigger.Permanent(away), "in the end": away} {
		var logged bytes.Buffer
		f := triggertest.New(t, &triggertest.Options{
			Processor: func(context.Context, trigger.Event) (trigger.Outcome, error) { return trigger.Outcome{}, failure },
			Worker:    trigger.WorkerOptions{MaxAttempts: 2},
			Service: trigger.Options{
				Env:         mortise.Env{Logger: slog.New(slog.NewTextHandler(&logged, nil))},
				PublicError: func(error) string { return "Ask us." },
			},
		})
		e := submit(t, f.Service, secretText)
		for f.Drain(t.Context()); get(t, f.Service, e.ID).Status != trigger.StatusFailed; f.Drain(t.Context()) {
			assert.NotContains(t, logged.String(), "given up", "an attempt that is tried again is no dead letter")
			logged.Reset()
			f.Advance(time.Minute)
		}
		assert.Equal(t, 1, strings.Count(logged.String(), "\n"), name)
		assert.Contains(t, logged.String(), "level=WARN msg=\"an event was given up\" event="+e.ID.String()+" organization=acme attempts=", name)
		assert.Contains(t, logged.String(), `error="the wiki is away"`, name)
		assert.Equal(t, "Ask us.", get(t, f.Service, e.ID).LastError)
	}
}

// Why attempts fail is logged: one line a second for an organization, which counts the
// failures since the line before.
func TestFailedAttemptsAreLogged(t *testing.T) {
	var logged bytes.Buffer
	f := triggertest.New(t, &triggertest.Options{
		Processor: returning(errors.New(strings.Repeat("away\n", 1000))),
		Worker:    trigger.WorkerOptions{Backoff: func(int) time.Duration { return time.Hour }},
		Service:   trigger.Options{Env: mortise.Env{Logger: slog.New(slog.NewTextHandler(&logged, nil))}},
	})
	for range 3 {
		submit(t, f.Service, secretText)
	}
	_, err := f.Submit(t.Context(), "rival", "", trigger.Submission{Instructions: secretText})
	require.NoError(t, err)
	f.Drain(t.Context())
	assert.Equal(t, 2, strings.Count(logged.String(), "\n"))
	for _, org := range []string{"acme", "rival"} {
		assert.Regexp(t, `level=WARN msg="an attempt failed; trying again" event=\S+ organization=`+org+
			` attempt=1 in=1h0m0s count=1 error="away away `, logged.String())
	}
	assert.Less(t, logged.Len(), 2*1400)

	logged.Reset()
	f.Advance(time.Second)
	submit(t, f.Service, secretText)
	f.Drain(t.Context())
	assert.Equal(t, 1, strings.Count(logged.String(), "\n"))
	assert.Contains(t, logged.String(), " organization=acme attempt=1 in=1h0m0s count=3 error=")
}

// LogError gives the text of a failure in the log, and leaves the history alone.
func TestLogError(t *testing.T) {
	for name, test := range map[string]struct {
		says func(error) string
		want string
	}{
		"other words": {func(err error) string { return strings.ToUpper(err.Error()) }, `error="AWAY NOW"`},
		"nothing":     {func(error) string { return "" }, `error=""`},
	} {
		t.Run(name, func(t *testing.T) {
			var logged bytes.Buffer
			f := triggertest.New(t, &triggertest.Options{
				Processor: returning(errors.New("away\nnow")),
				Worker:    trigger.WorkerOptions{Backoff: func(int) time.Duration { return 0 }, MaxAttempts: 2},
				Service:   trigger.Options{Env: mortise.Env{Logger: slog.New(slog.NewTextHandler(&logged, nil))}, LogError: test.says},
			})
			submitted := submit(t, f.Service, secretText)
			f.Drain(t.Context())
			lines := strings.Split(logged.String(), "\n")
			for _, message := range []string{"an attempt failed; trying again", "an event was given up"} {
				i := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, message) })
				require.GreaterOrEqual(t, i, 0, message)
				assert.Contains(t, lines[i], test.want, message)
			}
			e, err := f.Event(t.Context(), "acme", submitted.ID)
			require.NoError(t, err)
			assert.Equal(t, "away\nnow", e.LastError)
		})
	}
}

// A panic of the Processor is logged with its text and its stack, one line a second for an
// organization.
func TestPanicOfProcessorIsLogged(t *testing.T) {
	var logged bytes.Buffer
	f := triggertest.New(t, &triggertest.Options{
		Processor: func(context.Context, trigger.Event) (trigger.Outcome, error) {
			panic("boom\n" + strings.Repeat("x", 5000))
		},
		Service: trigger.Options{Env: mortise.Env{Logger: slog.New(slog.NewTextHandler(&logged, nil))}},
	})
	for range 2 {
		submit(t, f.Service, secretText)
	}
	f.Drain(t.Context())
	assert.Equal(t, 1, strings.Count(logged.String(), "level=ERROR"))
	assert.Contains(t, logged.String(), `text="boom xxx`)
	assert.Contains(t, logged.String(), "TestPanicOfProcessorIsLogged", "its stack")
	assert.Less(t, logged.Len(), 16<<10)
}

// PublicError decides what the history shows of a failure, when it is written. It is
// bounded like the errors themselves.
func TestPublicError(t *testing.T) {
	errDial := errors.New("dial tcp 10.0.3.7:5432: connection refused")
	for name, test := range map[string]struct {
		public func(error) string
		want   string
	}{
		"none":     {nil, errDial.Error()},
		"mapped":   {func(err error) string { return map[bool]string{true: "The wiki is away."}[errors.Is(err, errDial)] }, "The wiki is away."},
		"nothing":  {func(error) string { return "" }, ""},
		"too long": {func(error) string { return strings.Repeat("é", 3000) }, strings.Repeat("é", 1024) + "..."},
		"no UTF-8": {func(error) string { return "\xff" }, "\uFFFD"},
	} {
		var observed error
		f := triggertest.New(t, &triggertest.Options{
			Processor: func(context.Context, trigger.Event) (trigger.Outcome, error) {
				return trigger.Outcome{}, trigger.Permanent(errDial)
			},
			Service: trigger.Options{PublicError: test.public, Env: mortise.Env{Observer: func(_ context.Context, o mortise.Observation) {
				if o.Kind == mortise.KindFailed {
					observed = o.Err
				}
			}}},
		})
		e := submit(t, f.Service, "a")
		f.Drain(t.Context())
		assert.Equal(t, test.want, get(t, f.Service, e.ID).LastError, name)
		assert.ErrorIs(t, observed, errDial, "the observer hears what it was")
	}
}
