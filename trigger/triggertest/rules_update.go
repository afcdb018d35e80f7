package triggertest

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/trigger"
)

// updateRules are the rules of Store.Event and UpdateEvent.
var updateRules = []rule{
	{Rule{"store/get-unknown", "An unknown event is ErrNotFound."}, needStore,
		func(t *testing.T, s *subject) {
			_, err := s.Store.Event(t.Context(), orgA, uuid.New())
			require.ErrorIs(t, err, mortise.ErrNotFound)
			s.create(t, plainEvent(orgA, 0))
			_, err = s.Store.Event(t.Context(), orgA, uuid.New())
			require.ErrorIs(t, err, mortise.ErrNotFound)
			_, err = s.Store.Event(t.Context(), "", uuid.Nil)
			require.ErrorIs(t, err, mortise.ErrNotFound, "Service.Ping asks so")
		}},

	{Rule{"store/get-other-organization", "An event of another organization is ErrNotFound, for Store.Event."}, needStore,
		func(t *testing.T, s *subject) {
			e := s.create(t, filledEvent(orgA))
			s.create(t, plainEvent(orgB, 0))
			_, err := s.Store.Event(t.Context(), orgB, e.ID)
			require.ErrorIs(t, err, mortise.ErrNotFound)
			_, err = s.Store.Event(t.Context(), "", e.ID)
			require.ErrorIs(t, err, mortise.ErrNotFound)
		}},

	{Rule{"store/get-copies", "Results are the receiver's own: Store.Event copies what it returns."}, needStore,
		func(t *testing.T, s *subject) {
			want := filledEvent(orgA)
			s.create(t, want.Clone())
			got := s.get(t, want)
			spoil(&got)
			sameEvent(t, want, s.get(t, want))
		}},

	{Rule{"store/update-stores-what-it-leaves", "UpdateEvent stores what update leaves. It may change every field but ID, Organization and SubmittedAt."}, needStore,
		func(t *testing.T, s *subject) {
			e := s.create(t, plainEvent(orgA, 0))
			bystander := s.create(t, plainEvent(orgA, 0))
			filled := filledEvent(orgA)
			filled.ID = e.ID
			var seen trigger.Event
			s.update(t, e, func(stored *trigger.Event) { seen, *stored = stored.Clone(), filled.Clone() })
			sameEvent(t, e, seen)
			sameEvent(t, filled, s.get(t, e))
			s.update(t, e, func(stored *trigger.Event) { seen, *stored = stored.Clone(), e.Clone() })
			sameEvent(t, filled, seen)
			sameEvent(t, e, s.get(t, e))
			sameEvent(t, bystander, s.get(t, bystander))
		}},

	{Rule{"store/update-one-field", "UpdateEvent stores a change of one field alone, and leaves the others as they were."}, needStore,
		func(t *testing.T, s *subject) {
			filled := filledEvent(orgA)
			s.create(t, filled.Clone())
			unset := trigger.Event{Status: trigger.StatusReceived, Source: "api", Instructions: "Describe the old flag."}
			for _, f := range reflect.VisibleFields(reflect.TypeFor[trigger.Event]()) {
				if slices.Contains([]string{"ID", "Organization", "SubmittedAt"}, f.Name) {
					continue
				}
				for _, from := range []trigger.Event{unset, filled} {
					want := filled.Clone()
					to := reflect.ValueOf(from.Clone()).FieldByIndex(f.Index)
					reflect.ValueOf(&want).Elem().FieldByIndex(f.Index).Set(to)
					s.update(t, filled, func(e *trigger.Event) { reflect.ValueOf(e).Elem().FieldByIndex(f.Index).Set(to) })
					sameEvent(t, want, s.get(t, filled))
				}
			}
		}},

	{Rule{"store/update-copies", "UpdateEvent calls update with a copy of the event, and keeps a copy of what it leaves."}, needStore,
		func(t *testing.T, s *subject) {
			want := filledEvent(orgA)
			s.create(t, want.Clone())
			var kept *trigger.Event
			s.update(t, want, func(e *trigger.Event) { kept = e })
			spoil(kept)
			sameEvent(t, want, s.get(t, want))

			mine := want.Clone()
			s.update(t, want, func(e *trigger.Event) { e.Context, e.Outcome, e.Trace = mine.Context, mine.Outcome, mine.Trace })
			spoil(&mine)
			sameEvent(t, want, s.get(t, want))
		}},

	{Rule{"store/update-ignores-identity", "Changes of ID, Organization and SubmittedAt by update are ignored."}, needStore,
		func(t *testing.T, s *subject) {
			want := s.create(t, plainEvent(orgA, 0))
			moved := uuid.New()
			s.update(t, want, func(e *trigger.Event) {
				e.ID, e.Organization, e.SubmittedAt = moved, orgB, moment(time.Hour)
				e.Attempts = 7
			})
			want.Attempts = 7
			sameEvent(t, want, s.get(t, want))
			for _, org := range []string{orgA, orgB} {
				_, err := s.Store.Event(t.Context(), org, moved)
				require.ErrorIs(t, err, mortise.ErrNotFound)
			}
			_, err := s.Store.Event(t.Context(), orgB, want.ID)
			require.ErrorIs(t, err, mortise.ErrNotFound)
			page, err := s.Store.ListEvents(t.Context(), orgA, trigger.EventQuery{From: moment(0), To: moment(time.Microsecond), Limit: 10})
			require.NoError(t, err)
			require.Len(t, page.Items, 1, "events listed by the SubmittedAt that update tried to change")
			sameEvent(t, want, page.Items[0])
		}},

	{Rule{"store/update-error-changes-nothing", "An error from update leaves the event as it was and is returned so that errors.Is finds it."}, needStore,
		func(t *testing.T, s *subject) {
			want := filledEvent(orgA)
			s.create(t, want.Clone())
			refused := errors.New("refused")
			for _, cause := range []error{refused, fmt.Errorf("because: %w", refused)} {
				err := s.Store.UpdateEvent(t.Context(), orgA, want.ID, func(e *trigger.Event) error {
					spoil(e)
					e.Status, e.IdempotencyKey, e.Attempts, e.FinishedAt = trigger.StatusFailed, "", 99, time.Time{}
					return cause
				})
				require.ErrorIs(t, err, refused)
				sameEvent(t, want, s.get(t, want))
			}
			_, created, err := s.Store.CreateEvent(t.Context(), keyedEvent(orgA, want.IdempotencyKey, time.Hour), window())
			require.NoError(t, err)
			require.False(t, created, "the key was released by an update that failed")
		}},

	{Rule{"store/update-panic", "A panic in update leaves the event as it was and the store usable."}, needStore,
		func(t *testing.T, s *subject) {
			want := s.create(t, plainEvent(orgA, 0))
			var err error
			func() {
				defer func() {
					if p := recover(); p != nil {
						err = errors.New("panicked")
					}
				}()
				err = s.Store.UpdateEvent(t.Context(), orgA, want.ID, func(e *trigger.Event) error {
					e.Attempts = 99
					panic("of a rule of triggertest; nothing is wrong")
				})
			}()
			require.Error(t, err, "the panic was swallowed")
			sameEvent(t, want, s.get(t, want))
			s.update(t, want, func(e *trigger.Event) { e.Attempts = 1 })
			want.Attempts = 1
			sameEvent(t, want, s.get(t, want))
			s.create(t, plainEvent(orgA, 0))
		}},

	{Rule{"store/update-unknown", "UpdateEvent of an unknown event, and of one of another organization, is ErrNotFound; update is not called."}, needStore,
		func(t *testing.T, s *subject) {
			e := s.create(t, plainEvent(orgA, 0))
			called := false
			update := func(*trigger.Event) error { called = true; return nil }
			require.ErrorIs(t, s.Store.UpdateEvent(t.Context(), orgA, uuid.New(), update), mortise.ErrNotFound)
			require.ErrorIs(t, s.Store.UpdateEvent(t.Context(), orgB, e.ID, update), mortise.ErrNotFound)
			require.False(t, called, "update was called")
			sameEvent(t, e, s.get(t, e))
		}},

	{Rule{"store/update-releases-key", "UpdateEvent may change the idempotency key: the old one is free then, the new one is taken."}, needStore,
		func(t *testing.T, s *subject) {
			first := s.create(t, keyedEvent(orgA, "old", 0))
			s.update(t, first, func(e *trigger.Event) { e.IdempotencyKey = "new" })
			s.create(t, keyedEvent(orgA, "old", time.Hour))
			stored, created, err := s.Store.CreateEvent(t.Context(), keyedEvent(orgA, "new", time.Hour), window())
			require.NoError(t, err)
			require.False(t, created,
				"CreateEvent stored a second event with the key that an UpdateEvent gave to the first")
			require.Equal(t, first.ID, stored.ID, "the event with the key")

			s.update(t, first, func(e *trigger.Event) { e.IdempotencyKey = "" })
			s.create(t, keyedEvent(orgA, "new", time.Hour))
		}},

	{Rule{
		"store/update-taken-key",
		"If update gives the event an idempotency key that another event of the " +
			"organization has, nothing changes and the error is no sentinel.",
	}, needStore,
		func(t *testing.T, s *subject) {
			owner := s.create(t, keyedEvent(orgA, "key", 0))
			e := s.create(t, keyedEvent(orgA, "own", time.Hour))
			elsewhere := s.create(t, keyedEvent(orgB, "own", 0))
			take := func(e *trigger.Event) error {
				e.IdempotencyKey, e.Attempts = "key", 1
				return nil
			}
			isFailure(t,
				"UpdateEvent with the key of another event", s.Store.UpdateEvent(t.Context(), orgA, e.ID, take))
			sameEvent(t, owner, s.get(t, owner))
			sameEvent(t, e, s.get(t, e))
			inOrder(t, []uuid.UUID{owner.ID}, ids(s.list(t, orgA, trigger.EventQuery{IdempotencyKey: "key"})),
				"the event with the key")
			inOrder(t, []uuid.UUID{e.ID}, ids(s.list(t, orgA, trigger.EventQuery{IdempotencyKey: "own"})),
				"the event with its own key")

			require.NoError(t, s.Store.UpdateEvent(t.Context(), orgB, elsewhere.ID, take),
				"the key is free in the other organization")
			require.NoError(t, s.Store.UpdateEvent(t.Context(), orgA, owner.ID, take),
				"the key is the event's own")
		}},

	{Rule{"store/update-concurrent", "UpdateEvent is atomic: of concurrent updates none is lost."}, needStore,
		func(t *testing.T, s *subject) {
			const workers, each = 8, 25
			e := s.create(t, plainEvent(orgA, 0))
			more := func(e *trigger.Event) error {
				runtime.Gosched() // gives others the chance to come between
				e.Attempts++
				return nil
			}
			var errs [workers]error
			conformance.Together(workers, func(i int) {
				for range each {
					if errs[i] = s.Store.UpdateEvent(t.Context(), orgA, e.ID, more); errs[i] != nil {
						return
					}
				}
			})
			conformance.NoErrors(t, errs[:])
			require.Equal(t, workers*each, s.get(t, e).Attempts, "attempts, of which each update added one")
		}},

	{Rule{"store/reads-are-whole", "Another caller sees all of an update's effect or none."}, needStore,
		func(t *testing.T, s *subject) {
			e := s.create(t, plainEvent(orgA, 0))
			s.update(t, e, func(e *trigger.Event) { e.LastError = "0" })
			whole := func(e trigger.Event) error {
				if strconv.Itoa(e.Attempts) != e.LastError {
					return fmt.Errorf("half an update: attempts %d, last error %q", e.Attempts, e.LastError)
				}
				return nil
			}
			conformance.Watch(t, 4, func(i int) error {
				if i%2 == 0 {
					read, err := s.Store.Event(t.Context(), orgA, e.ID)
					if err == nil {
						err = whole(read)
					}
					return err
				}
				page, err := s.Store.ListEvents(t.Context(), orgA, trigger.EventQuery{Limit: 1})
				if err != nil || len(page.Items) != 1 {
					return fmt.Errorf("ListEvents returned %d events: %w", len(page.Items), err)
				}
				return whole(page.Items[0])
			}, 50, func(int) {
				s.update(t, e, func(e *trigger.Event) {
					e.Attempts++
					e.LastError = strconv.Itoa(e.Attempts)
				})
			})
		}},
}
