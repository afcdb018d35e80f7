package triggertest

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/trigger"
)

const leftText = "A caller whose context ends while the call waits has left: " +
	"once it has returned, update is not called any more. " +
	"The update is stored as a whole or not at all."

// leaveRules say what the calls of others have to do with a call: nothing.
var leaveRules = []rule{
	{Rule{"store/update-left", leftText}, needStore,
		func(t *testing.T, s *subject) {
			for _, same := range []bool{false, true} {
				events := []trigger.Event{s.create(t, plainEvent(orgA, 0)), s.create(t, plainEvent(orgA, 0))}
				leaves(t, same, func(ctx context.Context, thing int, f func()) error {
					return s.Store.UpdateEvent(ctx, orgA, events[thing].ID, func(e *trigger.Event) error {
						e.Attempts++
						f()
						e.LastError += "."
						return nil
					})
				}, func(thing int) int {
					e := s.get(t, events[thing])
					require.Len(t, e.LastError, e.Attempts, "half an update is stored")
					return e.Attempts
				})
			}
		}},

	{Rule{"organizations/update-left", leftText}, needOrganizations,
		func(t *testing.T, s *subject) {
			orgs := []string{orgA, orgB}
			leaves(t, false, func(ctx context.Context, thing int, f func()) error {
				id := uuid.New()
				more := func(o *trigger.Organization) error {
					f()
					o.SetCollection(id, true)
					return nil
				}
				return s.Organizations.UpdateOrganization(ctx, orgs[thing], more)
			}, func(thing int) int { return len(s.organization(t, orgs[thing]).Collections) })
		}},

	{Rule{"keys/update-left", leftText}, needKeys,
		func(t *testing.T, s *subject) {
			keys := []trigger.APIKey{s.addKey(t, newKey(orgA, 0)), s.addKey(t, newKey(orgA, 0))}
			leaves(t, false, func(ctx context.Context, thing int, f func()) error {
				return s.Keys.UpdateKey(ctx, orgA, keys[thing].ID, func(k *trigger.APIKey) error {
					f()
					k.Name += "."
					return nil
				})
			}, func(thing int) int {
				k, err := s.Keys.KeyByDigest(t.Context(), keys[thing].Digest)
				require.NoError(t, err)
				return strings.Count(k.Name, ".")
			})
		}},

	{Rule{
		"store/create-left",
		"A caller whose context ends while the call waits has left: once CreateEvent has " +
			"returned, nothing that it was given is read. The event is stored as a whole " +
			"or not at all.",
	}, needStore,
		func(t *testing.T, s *subject) {
			other := s.create(t, plainEvent(orgA, 0))
			more := func(f func()) error {
				return s.Store.UpdateEvent(t.Context(), orgA, other.ID, func(e *trigger.Event) error {
					f()
					e.Attempts++
					return nil
				})
			}
			want := filledEvent(orgA)
			err := conformance.Leave(t, more, func(ctx context.Context) error {
				given := want.Clone()
				defer spoil(&given)
				_, _, err := s.Store.CreateEvent(ctx, given, window())
				return err
			})
			if err != nil {
				isFailure(t, "CreateEvent whose context ended", err)
			}
			// It comes after what was waiting.
			require.NoError(t, more(func() {}), "an UpdateEvent after that")
			stored, created, after := s.Store.CreateEvent(t.Context(), want.Clone(), window())
			require.NoError(t, after)
			require.False(t, err == nil && created,
				"CreateEvent has returned no error, and has not stored its event")
			sameEvent(t, want, stored)
			sameEvent(t, want, s.get(t, want))
		}},

	{Rule{
		"store/one-failure-of-many",
		"The failure of one call fails no other: of many updates at once, some return " +
			"an error, panic or take a key that is taken, and the others are stored.",
	}, needStore,
		func(t *testing.T, s *subject) {
			s.create(t, keyedEvent(orgA, "taken", 0))
			const n = 20
			refused := errors.New("refused")
			var events [n]trigger.Event
			var errs [n]error
			var panicked [n]bool
			for i := range events {
				events[i] = s.create(t, plainEvent(orgA, 0))
			}
			conformance.Together(n, func(i int) {
				defer func() { panicked[i] = recover() != nil }()
				errs[i] = s.Store.UpdateEvent(t.Context(), orgA, events[i].ID, func(e *trigger.Event) error {
					e.Attempts = 1
					switch i % 5 {
					case 1:
						return refused
					case 2:
						panic("of a rule of triggertest; nothing is wrong")
					case 3:
						e.IdempotencyKey = "taken"
					}
					return nil
				})
			})
			for i := range events {
				require.Equal(t, i%5 == 2, panicked[i], "whether call %d panicked", i)
				switch i % 5 {
				case 1:
					require.ErrorIs(t, errs[i], refused, "the error of its own update function")
				case 2:
				case 3:
					isFailure(t, "UpdateEvent with a key that is taken", errs[i])
				default:
					require.NoError(t, errs[i], "a call with nothing wrong, beside some that fail")
					events[i].Attempts = 1
				}
				sameEvent(t, events[i], s.get(t, events[i]))
			}
		}},

	{Rule{
		"pruner/beside-update",
		"An UpdateEvent beside Prune does not store a removed event again.",
	}, needStore | needPruner,
		func(t *testing.T, s *subject) {
			for range 5 {
				e := s.create(t, finishedEvent(orgA, 0))
				removed := 0
				var pruned error
				var errs [3]error
				begun := make(chan struct{})
				begin := sync.OnceFunc(func() { close(begun) })
				conformance.Together(len(errs)+1, func(i int) {
					if i == len(errs) {
						<-begun // or Prune could come before all of them
						removed, _, pruned = s.Store.(trigger.Pruner).Prune(t.Context(), trigger.StatusCompleted, moment(time.Hour), moment(time.Hour), 100)
						return
					}
					defer begin()
					errs[i] = s.Store.UpdateEvent(t.Context(), orgA, e.ID, func(e *trigger.Event) error {
						begin()
						runtime.Gosched() // gives Prune the chance to come between
						e.Attempts++
						return nil
					})
				})
				require.NoError(t, pruned)
				require.Equal(t, 1, removed,
					"events removed by a Prune beside updates that leave the event finished")
				for _, err := range errs {
					if err != nil {
						require.ErrorIs(t, err, mortise.ErrNotFound, "UpdateEvent beside Prune")
					}
				}
				_, err := s.Store.Event(t.Context(), orgA, e.ID)
				require.ErrorIs(t, err, mortise.ErrNotFound,
					"Store.Event of an event that Prune has removed beside an UpdateEvent")
				require.Empty(t, s.list(t, orgA, trigger.EventQuery{}),
					"events listed after Prune has removed the only one")
			}
		}},
}

// leaves makes an update whose context ends while it waits for another one, of the same
// thing or of another, and one after both. update calls an update function that calls f,
// and count says how often a thing was updated.
func leaves(
	t *testing.T, same bool,
	update func(ctx context.Context, thing int, f func()) error, count func(thing int) int,
) {
	t.Helper()
	held := 1
	if same {
		held = 0
	}
	var returned, late atomic.Bool
	look := func() {
		if returned.Load() {
			late.Store(true)
		}
	}
	hold := func(f func()) error { return update(t.Context(), held, f) }
	err := conformance.Leave(t, hold, func(ctx context.Context) error {
		defer returned.Store(true)
		return update(ctx, 0, func() {
			look()
			runtime.Gosched()
			look()
		})
	})
	// One more comes after all that was waiting.
	require.NoError(t, update(t.Context(), 0, func() {}), "an update after that")
	require.False(t, late.Load(),
		"update was called, or was running, after its call had returned %v", err)
	stored := count(0) - 1
	if same {
		stored--
	}
	if err == nil {
		require.Equal(t, 1, stored, "times that an update is stored which returned no error")
		return
	}
	isFailure(t, "an update whose context ended", err)
	require.Contains(t, []int{0, 1}, stored, "times that an update is stored whose caller has left")
}
