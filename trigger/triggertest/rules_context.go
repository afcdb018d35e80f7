package triggertest

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/trigger"
)

type call = conformance.Call

// storeCalls calls every method of Store, and of Pruner if it is one.
func (s *subject) storeCalls(e trigger.Event) []call {
	calls := []call{
		conformance.CallOf("CreateEvent", s.Store.CreateEvent, plainEvent(orgA, 0), window()),
		conformance.CallOf("CreateEvents", s.Store.CreateEvents, []trigger.Event{plainEvent(orgA, 0)}, []mortise.Job(nil)),
		conformance.CallOf("Store.Event", s.Store.Event, orgA, e.ID),
		conformance.CallOf("UpdateEvent", s.Store.UpdateEvent, orgA, e.ID, func(*trigger.Event) error { return nil }),
		conformance.CallOf("ListEvents", s.Store.ListEvents, orgA, trigger.EventQuery{Limit: 10}),
		conformance.CallOf("Progress", s.Store.Progress, []uuid.UUID{e.ID}),
		conformance.CallOf("Overdue", s.Store.Overdue, moment(time.Hour), 10),
		conformance.CallOf("AllEvents", s.Store.AllEvents, trigger.AllQuery{Status: trigger.StatusFailed, Limit: 10}),
		conformance.CallOf("Counts", s.Store.Counts, orgA, 10),
		conformance.CallOf("Backlog", s.Store.Backlog, 10),
	}
	if p, ok := s.Store.(trigger.Pruner); ok {
		calls = append(calls, conformance.CallOf("Prune", p.Prune, trigger.StatusCompleted, moment(-time.Hour), moment(-time.Hour), 10))
	}
	if tx, ok := s.Store.(trigger.TxStore); ok {
		calls = append(calls,
			conformance.CallOf("CreateEventAndAdd", func(ctx context.Context) error {
				e := plainEvent(orgA, 0)
				_, _, err := tx.CreateEventAndAdd(ctx, e, window(), e.Job())
				return err
			}),
			conformance.CallOf("UpdateEventAndJobs", tx.UpdateEventAndJobs, orgA, e.ID, withJobs(func(*trigger.Event) error { return nil }), mortise.Lease{Job: e.Job()}, false))
	}
	if _, ok := s.Store.(mortise.Transactor); ok {
		calls = append(calls, s.transactCall(e.ID))
	}
	return calls
}

func (s *subject) organizationCalls() []call {
	return []call{
		conformance.CallOf("Setup", s.Organizations.Setup, orgA),
		conformance.CallOf("UpdateOrganization", s.Organizations.UpdateOrganization, orgA, func(*trigger.Organization) error { return nil }),
	}
}

func (s *subject) keyCalls(k trigger.APIKey) []call {
	return []call{
		conformance.CallOf("CreateKey", s.Keys.CreateKey, newKey(orgB, 0)),
		conformance.CallOf("KeyByDigest", s.Keys.KeyByDigest, k.Digest),
		conformance.CallOf("UpdateKey", s.Keys.UpdateKey, orgA, k.ID, func(*trigger.APIKey) error { return nil }),
		conformance.CallOf("ListKeys", s.Keys.ListKeys, orgA, "", 1),
	}
}

const endedText = "A call whose context has ended returns an error that is none of the sentinels."

// contextRules say what a context that has ended does to each method.
var contextRules = []rule{
	{Rule{"store/ended-context", endedText}, needStore,
		func(t *testing.T, s *subject) {
			conformance.AllFail(conformance.Ended(t), t, s.storeCalls(s.create(t, plainEvent(orgA, 0))), isFailure)
		}},

	{Rule{"store/left-at-any-look", conformance.AnyLook}, needStore,
		func(t *testing.T, s *subject) {
			e := s.create(t, plainEvent(orgA, 0))
			conformance.EveryLook(t, func() []call { return s.storeCalls(e) }, isFailure)
		}},

	{Rule{"keys/left-at-any-look", conformance.AnyLook}, needKeys,
		func(t *testing.T, s *subject) {
			k := s.addKey(t, newKey(orgA, 0))
			conformance.EveryLook(t, func() []call { return s.keyCalls(k) }, isFailure)
		}},

	{Rule{"organizations/left-at-any-look", conformance.AnyLook}, needOrganizations,
		func(t *testing.T, s *subject) {
			s.setup(t, orgA, 1)
			conformance.EveryLook(t, s.organizationCalls, isFailure)
		}},

	{Rule{"organizations/ended-context", endedText}, needOrganizations,
		func(t *testing.T, s *subject) {
			s.setup(t, orgA, 1)
			conformance.AllFail(conformance.Ended(t), t, s.organizationCalls(), isFailure)
		}},

	{Rule{"keys/ended-context", endedText}, needKeys,
		func(t *testing.T, s *subject) {
			conformance.AllFail(conformance.Ended(t), t, s.keyCalls(s.addKey(t, newKey(orgA, 0))), isFailure)
		}},
}
