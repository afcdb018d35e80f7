package triggertest

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/steptest"
	"github.com/seed-6363c74e/mortise/trigger"
)

// freed returns how many of the events are stored no more.
func (s *subject) freed(t *testing.T, events []trigger.Event) (n int) {
	t.Helper()
	return len(events) - len(s.notFreed(t, events))
}

// notFreed returns the events that are still stored: no other event can have their IDs. It
// stores the others anew, each in an organization of its own.
func (s *subject) notFreed(t *testing.T, events []trigger.Event) (left []trigger.Event) {
	t.Helper()
	for _, e := range events {
		free := finishedEvent("org-free-"+e.ID.String(), 0) // which no sweeper is told of
		free.ID = e.ID
		if _, _, err := s.Store.CreateEvent(t.Context(), free, window()); err != nil {
			left = append(left, e)
		}
	}
	return left
}

// deletionStepRules say how what was marked is removed.
var deletionStepRules = []rule{
	{Rule{"deletion/removes-events",
		"After the last step no event is left, whatever its status: its ID can be had by another organization."}, needStore,
		func(t *testing.T, s *subject) {
			keyed, unqueued, finished := s.openEvents(t, orgA)
			s.mark(t, orgA)
			steptest.All(t, 1, removing(s.Store, orgA))
			require.Equal(t, 3, s.freed(t, []trigger.Event{keyed, unqueued, finished}), "events removed of 3")
		}},

	{Rule{"deletion/removes-keys",
		"After the last step no key is left: another organization can have one with its ID and digest. Before, " +
			"that is ErrExists."}, needKeys,
		func(t *testing.T, s *subject) {
			var keys []trigger.APIKey
			for i := range 5 {
				keys = append(keys, s.addKey(t, newKey(orgA, time.Duration(i)*time.Second)))
			}
			s.mark(t, orgA)
			_, more, err := s.Keys.RemoveDeleted(t.Context(), orgA, 2)
			require.NoError(t, err)
			require.True(t, more, "5 keys, of which 2 may be gone")
			left := 0
			for i := range keys {
				keys[i].Organization = orgB
				if err := s.Keys.CreateKey(t.Context(), keys[i]); err != nil {
					require.ErrorIs(t, err, mortise.ErrExists)
					left++
				}
			}
			require.GreaterOrEqual(t, left, 3, "keys left of 5 after a step of 2")
			steptest.All(t, 2, removing(s.Keys, orgA))
			for _, k := range keys {
				if _, err := s.Keys.KeyByDigest(t.Context(), k.Digest); err != nil {
					s.addKey(t, k)
				}
				s.hasKey(t, k)
			}
		}},

	{Rule{"deletion/removes-jobs",
		"Where jobs are kept in the same database, those of a removed event go with it, of all its generations, " +
			"waiting, held and dead ones; they count as rows."}, needTx,
		func(t *testing.T, s *subject) {
			held := s.held(t, orgA)
			dead := s.held(t, orgA)
			require.NoError(t, s.Leases.Remove(t.Context(), dead.lease, true))
			waiting := plainEvent(orgA, 0)
			_, _, err := s.createAndAdd(t, waiting, window())
			require.NoError(t, err)
			old := waiting
			old.Generation = 0
			for waiting.Generation < 5 {
				waiting.Generation++
				require.NoError(t, s.Leases.Add(t.Context(), waiting.Job()))
			}
			s.update(t, waiting, func(e *trigger.Event) { e.Generation = waiting.Generation })

			s.mark(t, orgA)
			_, more, err := s.Store.RemoveDeleted(t.Context(), orgA, 5)
			require.NoError(t, err)
			require.True(t, more, "3 events and 8 jobs, of which 5 may be gone")
			_, more, err = s.Store.RemoveDeleted(t.Context(), orgA, 5)
			require.NoError(t, err)
			require.True(t, more, "3 events and 8 jobs, of which 10 may be gone")
			steptest.All(t, 5, removing(s.Store, orgA))
			s.hasJobs(t)
			require.ErrorIs(t, s.Leases.Extend(t.Context(), held.lease, time.Hour), mortise.ErrLeaseLost,
				"a job that was held when its event was removed")
			events := []trigger.Event{held.event, dead.event, old, waiting}
			for _, e := range events {
				require.NoError(t, s.Leases.Add(t.Context(), e.Job()))
			}
			s.hasJobs(t, events...) // or they were there
		}},

	{Rule{"deletion/others-alone",
		"The deletion of an organization leaves alone those whose names begin with its name, or differ in case, with " +
			"the same keys, collections and jobs, and jobs of other kinds."}, needTx,
		func(t *testing.T, s *subject) {
			const gone = "org-a"
			collection := uuid.New()
			ready := func(o *trigger.Organization) error {
				o.SetupComplete = true
				o.SetCollection(collection, true)
				return nil
			}
			e := keyedEvent(gone, "key", 0)
			_, _, err := s.createAndAdd(t, e, window())
			require.NoError(t, err)
			fill := func(org string) (k trigger.APIKey) {
				if s.Keys != nil {
					k = s.addKey(t, newKey(org, 0))
				}
				if s.Organizations != nil {
					require.NoError(t, s.Organizations.UpdateOrganization(t.Context(), org, ready))
				}
				return k
			}
			fill(gone)

			others := []string{"org-a ", "org-aa", "org-", "ORG-A", "org-a-1", "org_a", "%"}
			var events []trigger.Event
			var jobs []string
			var keys []trigger.APIKey
			for _, org := range others {
				other := keyedEvent(org, "key", 0)
				_, _, err := s.createAndAdd(t, other, window())
				require.NoError(t, err)
				events, keys = append(events, other), append(keys, fill(org))
				same := e.Job() // by ID alone
				same.Organization = org
				require.NoError(t, s.Leases.Add(t.Context(), same))
				jobs = append(jobs, other.Job().String(), same.String())
			}
			foreign := e.Job()
			foreign.Kind = "another kind"
			require.NoError(t, s.Leases.Add(t.Context(), foreign))

			s.mark(t, gone)
			s.removeAll(t, gone, 2)
			for i, org := range others {
				sameEvent(t, events[i], s.get(t, events[i]))
				require.Len(t, s.list(t, org, trigger.EventQuery{}), 1, "events of %q", org)
				if s.Keys != nil {
					s.hasKey(t, keys[i])
					require.Len(t, s.keys(t, org), 1, "keys of %q", org)
				}
				if s.Organizations != nil {
					require.Equal(t, []trigger.Collection{{ID: collection, Ready: true}}, s.organization(t, org).Collections)
				}
				s.create(t, plainEvent(org, 0))
			}
			var claimed []string
			for _, l := range s.claim(t) {
				claimed = append(claimed, l.Job.String())
			}
			require.ElementsMatch(t, jobs, claimed, "claimable jobs")
			claim := mortise.Claim{Token: uuid.New(), Kinds: []string{foreign.Kind}, Limit: 1, TTL: time.Hour}
			left, err := s.Leases.Claim(t.Context(), claim)
			require.NoError(t, err)
			require.Len(t, left, 1, "jobs of another kind, with the same ID")
		}},

	{Rule{"deletion/mark-stays",
		"The mark stays when everything is removed: nothing can be created then, and a further step is no error."}, needStore,
		func(t *testing.T, s *subject) {
			e := s.create(t, keyedEvent(orgA, "key", 0))
			s.mark(t, orgA)
			s.removeAll(t, orgA, 10)
			s.removeAll(t, orgA, 10)
			s.isRefused(t, e)
			s.isHidden(t, e)
		}},

	{Rule{"deletion/create-race",
		"A CreateEvent beside MarkDeleted comes before the mark, and its event goes with the steps, or it is ErrDeleted. " +
			"So does a CreateEventAndAdd, with its job."}, needStore,
		func(t *testing.T, s *subject) {
			creators := []creator{s.createPlainly}
			if _, ok := s.Store.(trigger.TxStore); ok && s.Leases != nil {
				creators = append(creators, s.createAndAdd)
			}
			for _, create := range creators {
				org := uuid.NewString()
				events := make([]trigger.Event, 6)
				for i := range events {
					events[i] = plainEvent(org, 0)
				}
				errs := make([]error, len(events)+1)
				conformance.Together(len(errs), func(i int) {
					if i < len(events) {
						_, _, errs[i] = create(t, events[i], window())
						return
					}
					if _, errs[i] = s.Store.MarkDeleted(t.Context(), org, moment(time.Hour)); errs[i] != nil {
						return
					}
					for more := true; more && errs[i] == nil; {
						_, more, errs[i] = s.Store.RemoveDeleted(t.Context(), org, 100)
					}
				})
				require.NoError(t, errs[len(events)])
				for _, err := range errs[:len(events)] {
					if err != nil {
						require.ErrorIs(t, err, mortise.ErrDeleted, "CreateEvent beside MarkDeleted")
					}
				}
				s.isHidden(t, events...)
				require.Equal(t, len(events), s.freed(t, events), "IDs that are free after the last step")
				if s.Leases != nil {
					s.hasJobs(t)
				}
			}
		}},

	{Rule{"deletion/durable",
		"The mark outlives the process, and so does each step; the steps go on where they were."}, needStore | needReopen,
		func(t *testing.T, s *subject) {
			var events []trigger.Event
			for range 5 {
				events = append(events, s.create(t, plainEvent(orgA, 0)))
			}
			s.mark(t, orgA)
			s.reopen(t)
			for steps, more := 0, true; more; steps++ {
				s.isHidden(t, events...)
				s.isRefused(t, plainEvent(orgA, 0))
				require.Less(t, steps, 10, "steps for 5 rows")
				var err error
				_, more, err = s.Store.RemoveDeleted(t.Context(), orgA, 2)
				require.NoError(t, err)
				s.reopen(t)
			}
			since, err := s.Store.MarkDeleted(t.Context(), orgA, moment(2*time.Hour))
			require.NoError(t, err)
			conformance.SameTime(t, "the time of the mark", moment(time.Hour), &since)
			s.isRefused(t, plainEvent(orgA, 0))
			require.Equal(t, len(events), s.freed(t, events), "events removed")
		}},
}
