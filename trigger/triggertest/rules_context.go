package triggertest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/trigger"
)

// call is one method of a backend, called so that it would succeed if nothing were wrong.
type call struct {
	name string
	do   func(ctx context.Context) error
}

// storeCalls calls every method of Store, and of Pruner if it is one.
func (s *subject) storeCalls(e trigger.Event) []call {
	calls := []call{
		{"CreateEvent", func(ctx context.Context) error {
			_, _, err := s.Store.CreateEvent(ctx, plainEvent(orgA, 0), window())
			return err
		}},
		{"Store.Event", func(ctx context.Context) error { _, err := s.Store.Event(ctx, orgA, e.ID); return err }},
		{"UpdateEvent", func(ctx context.Context) error {
			return s.Store.UpdateEvent(ctx, orgA, e.ID, func(*trigger.Event) error { return nil })
		}},
		{"ListEvents", func(ctx context.Context) error {
			_, err := s.Store.ListEvents(ctx, orgA, trigger.EventQuery{Limit: 10})
			return err
		}},
		{"Unqueued", func(ctx context.Context) error { _, err := s.Store.Unqueued(ctx, moment(time.Hour), 10); return err }},
		{"Stale", func(ctx context.Context) error {
			_, err := s.Store.Stale(ctx, moment(time.Hour), time.Time{}, 10)
			return err
		}},
		{"Stats", func(ctx context.Context) error { _, err := s.Store.Stats(ctx, orgA, 10); return err }},
		{"StatsAll", func(ctx context.Context) error { _, err := s.Store.StatsAll(ctx, 10); return err }},
	}
	if p, ok := s.Store.(trigger.Pruner); ok {
		calls = append(calls, call{"Prune", func(ctx context.Context) error { _, err := p.Prune(ctx, moment(-time.Hour), 10); return err }})
	}
	if tx, ok := s.Store.(trigger.TxStore); ok {
		calls = append(calls,
			call{"CreateEventAndAdd", func(ctx context.Context) error {
				e := plainEvent(orgA, 0)
				_, _, err := tx.CreateEventAndAdd(ctx, e, window(), e.Job())
				return err
			}},
			call{"UpdateEventAndRemove", func(ctx context.Context) error {
				return tx.UpdateEventAndRemove(ctx, orgA, e.ID, func(*trigger.Event) error { return nil }, mortise.Lease{Job: e.Job()}, false)
			}})
	}
	return calls
}

func (s *subject) organizationCalls() []call {
	return []call{
		{"Setup", func(ctx context.Context) error { _, err := s.Organizations.Setup(ctx, orgA); return err }},
		{"UpdateOrganization", func(ctx context.Context) error {
			return s.Organizations.UpdateOrganization(ctx, orgA, func(*trigger.Organization) error { return nil })
		}},
	}
}

func (s *subject) keyCalls(k trigger.APIKey) []call {
	return []call{
		{"CreateKey", func(ctx context.Context) error { return s.Keys.CreateKey(ctx, newKey(orgB, 0)) }},
		{"KeyByDigest", func(ctx context.Context) error { _, err := s.Keys.KeyByDigest(ctx, k.Digest); return err }},
		{"UpdateKey", func(ctx context.Context) error {
			return s.Keys.UpdateKey(ctx, orgA, k.ID, func(*trigger.APIKey) error { return nil })
		}},
		{"ListKeys", func(ctx context.Context) error {
			_, err := s.Keys.ListKeys(ctx, orgA, trigger.KeyQuery{Limit: 1})
			return err
		}},
	}
}

// allFail makes the calls and requires that each is a failure.
func allFail(ctx context.Context, t *testing.T, calls []call) {
	t.Helper()
	for _, c := range calls {
		isFailure(t, c.name, c.do(ctx))
	}
}

// allWork makes the calls and requires that none fails.
func allWork(t *testing.T, calls []call) {
	t.Helper()
	for _, c := range calls {
		require.NoError(t, c.do(t.Context()), c.name)
	}
}

const endedText = "A call whose context has ended returns an error that is none of the sentinels."

// contextRules say what a context that has ended does to each method.
var contextRules = []rule{
	{Rule{"store/ended-context", endedText}, needStore,
		func(t *testing.T, s *subject) {
			allFail(conformance.Ended(t), t, s.storeCalls(s.create(t, plainEvent(orgA, 0))))
		}},

	{Rule{"organizations/ended-context", endedText}, needOrganizations,
		func(t *testing.T, s *subject) {
			s.setup(t, orgA, 1)
			allFail(conformance.Ended(t), t, s.organizationCalls())
		}},

	{Rule{"keys/ended-context", endedText}, needKeys,
		func(t *testing.T, s *subject) {
			allFail(conformance.Ended(t), t, s.keyCalls(s.addKey(t, newKey(orgA, 0))))
		}},
}
