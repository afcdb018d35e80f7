package triggertest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
	"github.com/seed-6363c74e/mortise/trigger"
)

// createRules say what a Store keeps of an event.
var createRules = []rule{
	{Rule{"store/create-returns-what-it-stored", "CreateEvent stores e, every field of it, and returns it with created true."}, needStore,
		func(t *testing.T, s *subject) {
			e := filledEvent(orgA)
			sameEvent(t, e, s.create(t, e))
			sameEvent(t, e, s.get(t, e))
		}},

	{Rule{"store/unset-stays-unset", "A zero time means \"not yet\", a nil Context that there was none, a nil Outcome that there is none."}, needStore,
		func(t *testing.T, s *subject) {
			e := plainEvent(orgA, 0)
			sameEvent(t, e, s.create(t, e))
			got := s.get(t, e)
			sameEvent(t, e, got)
			require.Nil(t, got.Context, "the Context of an event that was given none")
			require.Nil(t, got.Outcome, "the Outcome of an event that has none")
			e = plainEvent(orgA, 0)
			e.Failures = []trigger.Attempt{{Number: 1}}
			sameEvent(t, e, s.create(t, e))
			require.True(t, got.StartedAt.IsZero() && got.FinishedAt.IsZero() && got.DueAt.IsZero() && got.WakeAt.IsZero() && got.SupersedeSince.IsZero(), "a zero time came back as another one")
		}},

	{Rule{"store/nil-differs-from-empty", "Context is nil if there was none, which {} is not; Outcome is set when completed, with or without Data."}, needStore,
		func(t *testing.T, s *subject) {
			for _, change := range []func(*trigger.Event){
				func(e *trigger.Event) { e.Context = json.RawMessage(`{}`) },
				func(e *trigger.Event) { e.Outcome = &trigger.Outcome{} },
				func(e *trigger.Event) { e.Outcome = &trigger.Outcome{Summary: "Nothing to do."} },
				func(e *trigger.Event) { e.Outcome = &trigger.Outcome{Data: json.RawMessage(`null`)} },
				func(e *trigger.Event) { e.Outcome = &trigger.Outcome{Data: json.RawMessage(`""`)} },
				func(e *trigger.Event) { e.Trace = map[string]string{} },
			} {
				e := plainEvent(orgA, 0)
				change(&e)
				sameEvent(t, e, s.create(t, e))
				sameEvent(t, e, s.get(t, e))
			}
		}},

	{Rule{"store/times-keep-microseconds", "Times keep microseconds, and are UTC."}, needStore,
		func(t *testing.T, s *subject) {
			for _, at := range []time.Time{
				time.Date(2026, 1, 2, 3, 4, 5, 1_000, time.UTC),
				time.Date(2026, 1, 2, 3, 4, 5, 999_999_000, time.UTC),
				time.Date(2026, 12, 31, 23, 59, 59, 123_457_000, time.UTC),
				time.Date(2096, 2, 29, 0, 0, 0, 0, time.UTC),
			} {
				e := plainEvent(orgA, 0)
				e.SubmittedAt, e.StartedAt, e.FinishedAt, e.DueAt, e.WakeAt, e.SupersedeSince = at, at, at, at, at, at
				e.Failures = []trigger.Attempt{{Number: 1, StartedAt: at, EndedAt: at}}
				sameEvent(t, e, s.create(t, e))
				sameEvent(t, e, s.get(t, e))
				page, err := s.Store.ListEvents(t.Context(), orgA, trigger.EventQuery{From: at, To: at.Add(time.Microsecond), Limit: 10})
				require.NoError(t, err)
				require.Len(t, page.Items, 1, "ListEvents from %v for one microsecond", at)
				sameEvent(t, e, page.Items[0])
			}
		}},

	{Rule{"store/strings-keep-every-byte", "Strings keep every byte, and those that are no names U+0000, too."}, needStore,
		func(t *testing.T, s *subject) {
			for _, text := range []string{
				" \t spaces \r\n ", "\U0001F4DA\U0010FFFF", "e\u0301 \u00e9", "\ufeffmark",
				`quotes ' " \ %s $1 ? --`, "\u2028\u2029\u202e", "\ufffd",
			} {
				e, free := plainEvent(text, 0), "\x00 before "+text+"\x00"
				e.Source, e.IdempotencyKey, e.Instructions, e.LastError = text, text, free, free
				e.Actor, e.SupersedeKey, e.Failures = mortise.Actor(text), text, []trigger.Attempt{{Number: 1, Error: free}}
				e.Outcome = &trigger.Outcome{Summary: free}
				e.Trace = map[string]string{"state": text}
				sameEvent(t, e, s.create(t, e))
				sameEvent(t, e, s.get(t, e))
				s.update(t, e, func(e *trigger.Event) { e.LastError += text })
				e.LastError += text
				sameEvent(t, e, s.get(t, e))
			}
		}},

	{Rule{"store/longest", "Every text and blob of an event comes back whole, as long as it can be: a mebibyte of instructions, context and data."}, needStore,
		func(t *testing.T, s *subject) {
			e := filledEvent(orgA)
			mutate.Stretch(&e)
			e.Trace["tracestate"] = strings.Repeat("a", 1<<10)
			sameEvent(t, e, s.create(t, e))
			sameEvent(t, e, s.get(t, e))
			s.update(t, e, func(e *trigger.Event) { e.Attempts++ })
			e.Attempts++
			sameEvent(t, e, s.list(t, e.Organization, trigger.EventQuery{})[0])
		}},

	{Rule{"store/raw-json-keeps-every-byte", "Raw JSON keeps every byte: spaces, digits, escapes, order and duplicates of keys."}, needStore,
		func(t *testing.T, s *subject) {
			for _, raw := range []string{
				`{"n":1.000000000000000000000001e+5, "z":  [1]}`,
				`{"big":123456789012345678901234567890,"exp":1E400,"minus":-0.0}`,
				"{ \"z\" :1,\r\n\t\"a\":2 }",
				`{"nul":"\u0000","lone":"\ud800","pair":"\ud83d\udcda","slash":"\/","e":"\u0065"}`,
				"{\"raw\":\"\U0001F4DA\u2028\"}",
				`{"a":1,"a":2}`,
			} {
				e := plainEvent(orgA, 0)
				e.Context = json.RawMessage(raw)
				e.Outcome = &trigger.Outcome{Data: json.RawMessage(" " + raw + "\n")}
				sameEvent(t, e, s.create(t, e))
				sameEvent(t, e, s.get(t, e))
				s.update(t, e, func(e *trigger.Event) { e.Attempts++ })
				e.Attempts++
				sameEvent(t, e, s.get(t, e))
			}
		}},

	{Rule{"store/create-copies", "Arguments and results are the receiver's own: CreateEvent copies what it keeps and what it returns."}, needStore,
		func(t *testing.T, s *subject) {
			e := filledEvent(orgA)
			want := e.Clone()
			stored := s.create(t, e)
			spoil(&e)
			sameEvent(t, want, stored)
			sameEvent(t, want, s.get(t, want))
			spoil(&stored)
			sameEvent(t, want, s.get(t, want))

			again, created, err := s.Store.CreateEvent(t.Context(), want.Clone(), window())
			require.NoError(t, err)
			require.False(t, created, "CreateEvent stored an event with the ID of one that is there")
			spoil(&again)
			sameEvent(t, want, s.get(t, want))
		}},

	{Rule{"store/create-same-id", "CreateEvent stores nothing if the organization has an event with the same ID: it returns that one, and created is false."}, needStore,
		func(t *testing.T, s *subject) {
			first := s.create(t, filledEvent(orgA))
			for _, key := range []string{"", first.IdempotencyKey, "key-2"} {
				second := keyedEvent(orgA, key, time.Hour)
				second.ID = first.ID
				stored, created, err := s.Store.CreateEvent(t.Context(), second, window())
				require.NoError(t, err)
				require.False(t, created, "CreateEvent stored an event with the ID of one that is there")
				sameEvent(t, first, stored)
				sameEvent(t, first, s.get(t, first))
			}
		}},

	{Rule{
		"store/create-same-id-elsewhere",
		"CreateEvent with the ID of another organization's event changes nothing and " +
			"returns an error that is no sentinel.",
	}, needStore,
		func(t *testing.T, s *subject) {
			first := s.create(t, filledEvent(orgA))
			old := s.create(t, keyedEvent(orgB, "key", 0))
			second := keyedEvent(orgB, "key", time.Hour)
			second.ID = first.ID
			_, _, err := s.Store.CreateEvent(t.Context(), second, moment(time.Minute))
			isFailure(t, "CreateEvent with the ID of another organization's event", err)
			sameEvent(t, first, s.get(t, first))
			sameEvent(t, old, s.get(t, old))
			_, err = s.Store.Event(t.Context(), orgB, second.ID)
			require.ErrorIs(t, err, mortise.ErrNotFound, "Store.Event of an event that CreateEvent has refused")
		}},

	{Rule{"store/create-concurrent", "CreateEvent is safe for concurrent use: no event is lost."}, needStore,
		func(t *testing.T, s *subject) {
			const n = 32
			events, errs := make([]trigger.Event, n), make([]error, n)
			for i := range events {
				events[i] = plainEvent([]string{orgA, orgB}[i%2], time.Duration(i/8)*time.Microsecond)
			}
			conformance.Together(n, func(i int) {
				_, created, err := s.Store.CreateEvent(t.Context(), events[i], window())
				if errs[i] = err; err == nil && !created {
					errs[i] = errNotCreated
				}
			})
			conformance.NoErrors(t, errs)
			for _, e := range events {
				sameEvent(t, e, s.get(t, e))
			}
		}},
}
