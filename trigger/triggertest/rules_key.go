package triggertest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/trigger"
)

var errNotCreated = errors.New("Create returned created false for an event of its own")

// creator is Store.Create, or a method that does the same and adds a job.
type creator func(t *testing.T, e trigger.Event, keySince time.Time) (stored trigger.Event, created bool, err error)

// keyRules say when an idempotency key finds an earlier event.
var keyRules = []rule{
	{Rule{"store/create-same-key", "Create stores nothing if the organization has an event with the same idempotency key submitted after keySince: it returns that one, and created is false."}, needStore,
		func(t *testing.T, s *subject) { keyFinds(t, s, s.createPlainly, moment(-time.Microsecond)) }},

	{Rule{"store/create-key-at-window-start", "An event submitted exactly at keySince still has its key."}, needStore,
		func(t *testing.T, s *subject) { keyFinds(t, s, s.createPlainly, moment(0)) }},

	{Rule{"store/create-key-before-window", "An event with the same key submitted before keySince loses its key in the same transaction; both events stay."}, needStore,
		func(t *testing.T, s *subject) { keyIsTaken(t, s, s.createPlainly) }},

	{Rule{"store/create-key-of-finished-event", "A key counts whatever has become of its event."}, needStore,
		func(t *testing.T, s *subject) {
			for _, status := range trigger.Statuses() {
				first := keyedEvent(orgA, "key-"+string(status), 0)
				s.create(t, first)
				s.update(t, first, func(e *trigger.Event) { e.Status = status })
				stored, created, err := s.Store.Create(t.Context(), keyedEvent(orgA, first.IdempotencyKey, time.Hour), window())
				require.NoError(t, err)
				require.False(t, created, "the key of a %s event was not found", status)
				require.Equal(t, first.ID, stored.ID)
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

	{Rule{"store/create-key-is-exact", "Keys are the same if every byte is."}, needStore,
		func(t *testing.T, s *subject) {
			for _, key := range []string{"key", "Key", "KEY", "key%", "key_", "ke", "key1", "'key'", `k\ey`} {
				s.create(t, keyedEvent(orgA, key, 0))
			}
			page, err := s.Store.List(t.Context(), orgA, trigger.Query{IdempotencyKey: "Key", Limit: 10})
			require.NoError(t, err)
			require.Len(t, page.Events, 1)
			require.Equal(t, "Key", page.Events[0].IdempotencyKey)
		}},

	{Rule{"store/create-concurrent-one-key", "Create is atomic: of many at once with one key, one creates its event and the others return it."}, needStore,
		func(t *testing.T, s *subject) { keyIsWonOnce(t, s, s.createPlainly) }},

	{Rule{"store/create-concurrent-old-key", "Of many at once that find the key outside their window, one takes it and the others return its event."}, needStore,
		func(t *testing.T, s *subject) {
			old := keyedEvent(orgA, "key", 0)
			s.create(t, old)
			keyIsWonOnce(t, s, s.createPlainly)
			require.Empty(t, s.get(t, old).IdempotencyKey)
		}},
}

func (s *subject) createPlainly(t *testing.T, e trigger.Event, keySince time.Time) (trigger.Event, bool, error) {
	return s.Store.Create(t.Context(), e, keySince)
}

// keyFinds creates an event at moment 0 and then another one with its key, which must not be stored.
func keyFinds(t *testing.T, s *subject, create creator, keySince time.Time) {
	t.Helper()
	first := keyedEvent(orgA, "key", 0)
	_, created, err := create(t, first, window())
	require.NoError(t, err)
	require.True(t, created)

	second := keyedEvent(orgA, "key", time.Hour)
	stored, created, err := create(t, second, keySince)
	require.NoError(t, err)
	require.False(t, created)
	sameEvent(t, first, stored)
	sameEvent(t, first, s.get(t, first))
	_, err = s.Store.Get(t.Context(), orgA, second.ID)
	require.ErrorIs(t, err, trigger.ErrNotFound)
}

// keyIsTaken creates an event at moment 0 and then another one with its key, whose window begins just after.
func keyIsTaken(t *testing.T, s *subject, create creator) {
	t.Helper()
	first := keyedEvent(orgA, "key", 0)
	_, created, err := create(t, first, window())
	require.NoError(t, err)
	require.True(t, created)

	second := keyedEvent(orgA, "key", time.Hour)
	stored, created, err := create(t, second, moment(time.Microsecond))
	require.NoError(t, err)
	require.True(t, created)
	sameEvent(t, second, stored)
	sameEvent(t, second, s.get(t, second))
	first.IdempotencyKey = ""
	sameEvent(t, first, s.get(t, first))

	third, created, err := create(t, keyedEvent(orgA, "key", 2*time.Hour), moment(time.Microsecond))
	require.NoError(t, err)
	require.False(t, created, "the key is not the second event's")
	require.Equal(t, second.ID, third.ID)
}

// keyIsWonOnce creates many events at once with the key "key", an hour after moment 0, in a window that excludes moment 0.
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
	require.Equal(t, 1, winners, "events created")
	for i := range events {
		sameEvent(t, winner, stored[i])
		if !created[i] {
			_, err := s.Store.Get(t.Context(), orgA, events[i].ID)
			require.ErrorIs(t, err, trigger.ErrNotFound)
		}
	}
	page, err := s.Store.List(t.Context(), orgA, trigger.Query{IdempotencyKey: "key", Limit: 10})
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{winner.ID}, ids(page.Events))
	return winner
}
