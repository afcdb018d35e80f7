package triggertest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/trigger"
)

var errNotCreated = errors.New("CreateEvent returned created false for an event of its own")

// creator is Store.CreateEvent, or a method that does the same and adds a job.
type creator func(t *testing.T, e trigger.Event, keySince time.Time) (stored trigger.Event, created bool, err error)

// keyRules say when an idempotency key finds an earlier event.
var keyRules = []rule{
	{Rule{"store/create-same-key", "CreateEvent stores nothing if the organization has an event with the same idempotency key submitted after keySince: it returns that one, and created is false."}, needStore,
		func(t *testing.T, s *subject) { keyFinds(t, s, s.createPlainly, moment(-time.Microsecond)) }},

	{Rule{"store/create-key-at-window-start", "An event submitted exactly at keySince still has its key."}, needStore,
		func(t *testing.T, s *subject) { keyFinds(t, s, s.createPlainly, moment(0)) }},

	{Rule{"store/create-key-before-window", "An event with the same key submitted before keySince loses its key in the same transaction; both events stay."}, needStore,
		func(t *testing.T, s *subject) { keyIsTaken(t, s, s.createPlainly) }},

	{Rule{"store/create-key-of-event-that-ended-late", "The window of a key goes by SubmittedAt alone: an event submitted before keySince loses its key, though it began and ended since."}, needStore,
		func(t *testing.T, s *subject) {
			first := keyedEvent(orgA, "key", 0)
			s.create(t, first)
			s.update(t, first, func(e *trigger.Event) {
				e.Status, e.StartedAt, e.FinishedAt, e.DueAt = trigger.StatusCompleted, moment(2*time.Hour), moment(3*time.Hour), moment(3*time.Hour)
			})
			isCreated(t, s.createPlainly, keyedEvent(orgA, "key", 4*time.Hour), moment(time.Hour), "the key belongs to an event that was submitted before keySince, and ended later")
		}},

	{Rule{"store/create-key-of-finished-event", "A key counts whatever has become of its event."}, needStore,
		func(t *testing.T, s *subject) {
			for _, status := range trigger.Statuses() {
				first := keyedEvent(orgA, "key-"+string(status), 0)
				s.create(t, first)
				s.update(t, first, func(e *trigger.Event) { e.Status = status })
				stored, created, err := s.Store.CreateEvent(t.Context(), keyedEvent(orgA, first.IdempotencyKey, time.Hour), window())
				require.NoError(t, err)
				require.False(t, created, "CreateEvent stored a second event with the key of a %s one", status)
				sameEvent(t, s.get(t, first), stored)
			}
		}},

	{Rule{"store/create-key-of-other-organization", "Only events of the same organization count for an idempotency key."}, needStore,
		func(t *testing.T, s *subject) {
			first := s.create(t, keyedEvent(orgA, "key", 0))
			second := s.create(t, keyedEvent(orgB, "key", 0))
			sameEvent(t, first, s.get(t, first))
			sameEvent(t, second, s.get(t, second))
		}},

	{Rule{"store/create-empty-key-never-matches", "An empty key never matches."}, needStore,
		func(t *testing.T, s *subject) {
			first := s.create(t, plainEvent(orgA, 0))
			s.create(t, plainEvent(orgA, 0))
			third := s.create(t, plainEvent(orgA, time.Hour))
			sameEvent(t, first, s.get(t, first))
			sameEvent(t, third, s.get(t, third))
		}},

	{Rule{
		"store/create-id-before-key",
		"If one event has the ID and another one the idempotency key, CreateEvent returns " +
			"the one with the ID; both stay as they were, however old they are.",
	}, needStore,
		func(t *testing.T, s *subject) {
			keyed := s.create(t, keyedEvent(orgA, "key", 0))
			same := s.create(t, keyedEvent(orgA, "own", time.Hour))
			for _, since := range []time.Duration{0, time.Microsecond, 2 * time.Hour} {
				e := keyedEvent(orgA, "key", 3*time.Hour)
				e.ID = same.ID
				stored, created, err := s.Store.CreateEvent(t.Context(), e, moment(since))
				require.NoError(t, err)
				require.False(t, created, "CreateEvent stored an event whose ID is there")
				sameEvent(t, same, stored)
				sameEvent(t, same, s.get(t, same))
				sameEvent(t, keyed, s.get(t, keyed))
			}
		}},

	{Rule{"store/create-concurrent-one-key", "CreateEvent is atomic: of many at once with one key, one creates its event and the others return it."}, needStore,
		func(t *testing.T, s *subject) { keyIsWonOnce(t, s, s.createPlainly) }},

	{Rule{"store/create-concurrent-old-key", "Of many at once that find the key outside their window, one takes it and the others return its event."}, needStore,
		func(t *testing.T, s *subject) {
			old := keyedEvent(orgA, "key", 0)
			s.create(t, old)
			keyIsWonOnce(t, s, s.createPlainly)
			require.Empty(t, s.get(t, old).IdempotencyKey,
				"the key of the event submitted before keySince, after another one took it")
		}},
}

func (s *subject) createPlainly(t *testing.T, e trigger.Event, keySince time.Time) (trigger.Event, bool, error) {
	return s.Store.CreateEvent(t.Context(), e, keySince)
}

// keyFinds creates an event at moment 0 and then another one with its key, which must not
// be stored.
func keyFinds(t *testing.T, s *subject, create creator, keySince time.Time) {
	t.Helper()
	first := keyedEvent(orgA, "key", 0)
	isCreated(t, create, first, window(), "no other event has the key")

	second := keyedEvent(orgA, "key", time.Hour)
	isFound(t, create, second, keySince, first,
		"the key belongs to an event that was submitted %v after keySince",
		first.SubmittedAt.Sub(keySince))
	sameEvent(t, first, s.get(t, first))
	_, err := s.Store.Event(t.Context(), orgA, second.ID)
	require.ErrorIs(t, err, mortise.ErrNotFound, "Store.Event of the event that CreateEvent did not create")
}

// keyIsTaken creates an event at moment 0 and then another one with its key, whose window
// begins just after.
func keyIsTaken(t *testing.T, s *subject, create creator) {
	t.Helper()
	first := keyedEvent(orgA, "key", 0)
	isCreated(t, create, first, window(), "no other event has the key")

	second, keySince := keyedEvent(orgA, "key", time.Hour), moment(time.Microsecond)
	isCreated(t, create, second, keySince,
		"the key belongs to an event that was submitted a microsecond before keySince")
	sameEvent(t, second, s.get(t, second))
	first.IdempotencyKey = ""
	sameEvent(t, first, s.get(t, first))

	third := keyedEvent(orgA, "key", 2*time.Hour)
	isFound(t, create, third, keySince, second,
		"the key belongs to the second event, which took it from the first")
}

// isCreated requires that an event is created. why says in which case.
func isCreated(t *testing.T, create creator, e trigger.Event, keySince time.Time, why string) {
	t.Helper()
	stored, created, err := create(t, e, keySince)
	require.NoError(t, err, "CreateEvent, where %s", why)
	require.True(t, created, "want a new event, got another one with created false, where %s", why)
	sameEvent(t, e, stored)
}

// isFound requires that another event is returned instead of a new one.
func isFound(
	t *testing.T, create creator, e trigger.Event, keySince time.Time, want trigger.Event,
	why string, args ...any,
) {
	t.Helper()
	why = fmt.Sprintf(why, args...)
	found, created, err := create(t, e, keySince)
	require.NoError(t, err, "CreateEvent, where %s", why)
	require.False(t, created, "want the event that is there, got created true, where %s", why)
	sameEvent(t, want, found)
}

// keyIsWonOnce creates many events at once with the key "key", an hour after moment 0, in
// a window that excludes moment 0.
func keyIsWonOnce(t *testing.T, s *subject, create creator) (winner trigger.Event) {
	t.Helper()
	const n = 32
	var (
		events  [n]trigger.Event
		stored  [n]trigger.Event
		created [n]bool
		errs    [n]error
	)
	for i := range events {
		events[i] = keyedEvent(orgA, "key", time.Hour)
	}
	conformance.Together(n, func(i int) {
		stored[i], created[i], errs[i] = create(t, events[i], moment(time.Microsecond))
	})
	conformance.NoErrors(t, errs[:])
	winners := 0
	for i := range events {
		if created[i] {
			winner = events[i]
			winners++
		}
	}
	require.Equal(t, 1, winners, "events created by %d calls at once with one key", n)
	for i := range events {
		sameEvent(t, winner, stored[i])
		if !created[i] {
			_, err := s.Store.Event(t.Context(), orgA, events[i].ID)
			require.ErrorIs(t, err, mortise.ErrNotFound, "Store.Event of an event that CreateEvent did not create")
		}
	}
	inOrder(t, []uuid.UUID{winner.ID}, ids(s.list(t, orgA, trigger.EventQuery{IdempotencyKey: "key"})),
		"events with the key")
	return winner
}
