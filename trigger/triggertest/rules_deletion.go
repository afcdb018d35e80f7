package triggertest

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/steptest"
	"github.com/seed-6363c74e/mortise/trigger"
)

// deletions returns the parts of the backend that delete organizations.
func (s *subject) deletions() (parts []trigger.Deletion) {
	if s.Keys != nil {
		parts = append(parts, s.Keys)
	}
	if s.Store != nil {
		parts = append(parts, s.Store)
	}
	if s.Organizations != nil {
		parts = append(parts, s.Organizations)
	}
	return parts
}

// mark marks an organization in all parts.
func (s *subject) mark(t *testing.T, org string) {
	t.Helper()
	for _, part := range s.deletions() {
		_, err := part.MarkDeleted(t.Context(), org, moment(time.Hour))
		require.NoError(t, err)
	}
}

// removeAll takes steps of at most limit rows until nothing is left in any part.
func (s *subject) removeAll(t *testing.T, org string, limit int) {
	t.Helper()
	for _, part := range s.deletions() {
		steptest.All(t, limit, removing(part, org))
	}
}

// removing is RemoveDeleted of an organization.
func removing(part trigger.Deletion, org string) steptest.Do {
	return func(ctx context.Context, limit int) (int, bool, error) { return part.RemoveDeleted(ctx, org, limit) }
}

// neverCalled is an update function of what is deleted.
func neverCalled[T any](t *testing.T) func(*T) error {
	return func(*T) error {
		t.Error("update is called for what is deleted")
		return nil
	}
}

// openEvents creates an event for each thing that a Store tells of.
func (s *subject) openEvents(t *testing.T, org string) (keyed, overdue, failed trigger.Event) {
	t.Helper()
	keyed, overdue, failed = keyedEvent(org, "key", 0), waking(org, 0), finishedEvent(org, 0)
	keyed.DueAt = moment(0)
	failed.Status = trigger.StatusFailed
	return s.create(t, keyed), s.create(t, overdue), s.create(t, failed)
}

// isHidden requires that nothing of the events is there.
func (s *subject) isHidden(t *testing.T, events ...trigger.Event) {
	t.Helper()
	org := events[0].Organization
	for _, e := range events {
		_, err := s.Store.Event(t.Context(), org, e.ID)
		require.ErrorIs(t, err, mortise.ErrNotFound, "Store.Event in a deleted organization")
		err = s.Store.UpdateEvent(t.Context(), org, e.ID, neverCalled[trigger.Event](t))
		require.ErrorIs(t, err, mortise.ErrNotFound, "UpdateEvent in a deleted organization")
		if tx, ok := s.Store.(trigger.TxStore); ok {
			l := mortise.Lease{Job: e.Job(), Token: uuid.New()}
			err := tx.UpdateEventAndJobs(t.Context(), org, e.ID, withJobs(neverCalled[trigger.Event](t)), l, false)
			require.ErrorIs(t, err, mortise.ErrNotFound, "UpdateEventAndJobs in a deleted organization")
		}
	}
	for what, q := range map[string]trigger.EventQuery{
		"all": {}, "those with a key": {IdempotencyKey: "key"}, "those of a status": {Status: trigger.StatusReceived},
		"those of a source":     {Source: "api"},
		"those behind a cursor": {After: mortise.Position{At: moment(time.Hour), ID: string(uuid.Nil[:])}.Cursor()},
	} {
		q.Limit = 10
		page, err := s.Store.ListEvents(t.Context(), org, q)
		require.NoError(t, err)
		require.Empty(t, page.Items, "ListEvents of a deleted organization: %s", what)
		require.Empty(t, page.Next, "Next of ListEvents of a deleted organization: %s", what)
	}
	left, err := s.Store.Overdue(t.Context(), moment(time.Hour), 10)
	require.NoError(t, err)
	require.Empty(t, left, "Overdue after the organization was deleted")
	progress, err := s.Store.Progress(t.Context(), ids(events))
	require.NoError(t, err)
	require.Empty(t, progress, "Progress after the organization was deleted")
	for _, status := range []trigger.Status{trigger.StatusReceived, trigger.StatusFailed} {
		page, err := s.Store.AllEvents(t.Context(), trigger.AllQuery{Status: status, Limit: 10})
		require.NoError(t, err)
		require.Empty(t, page.Items, "AllEvents after the organization was deleted")
	}
	s.hasCounts(t, org, 10, trigger.Counts{})
}

// isRefused requires that nothing can be created with the event.
func (s *subject) isRefused(t *testing.T, e trigger.Event) {
	t.Helper()
	_, created, err := s.Store.CreateEvent(t.Context(), e, window())
	require.ErrorIs(t, err, mortise.ErrDeleted, "CreateEvent in a deleted organization")
	require.False(t, created)
	require.ErrorIs(t, s.Store.CreateEvents(t.Context(), []trigger.Event{e}, nil), mortise.ErrDeleted, "CreateEvents in a deleted organization")
	if _, ok := s.Store.(trigger.TxStore); ok {
		_, created, err := s.createAndAdd(t, e, window())
		require.ErrorIs(t, err, mortise.ErrDeleted, "CreateEventAndAdd in a deleted organization")
		require.False(t, created)
	}
}

// deletionRules say what a mark does.
var deletionRules = []rule{
	{Rule{"deletion/hides-events",
		"From the mark on, Store.Event, UpdateEvent and UpdateEventAndJobs of the organization's events are ErrNotFound " +
			"and call no update, ListEvents is empty, Overdue, Progress and AllEvents leave them out, and Counts are zero."}, needStore,
		func(t *testing.T, s *subject) {
			keyed, overdue, failed := s.openEvents(t, orgA)
			s.mark(t, orgA)
			s.isHidden(t, keyed, overdue, failed)
		}},

	{Rule{"deletion/refuses-events",
		"CreateEvent, CreateEvents and CreateEventAndAdd in a marked organization are ErrDeleted and store nothing, also of an event " +
			"that was there, or whose idempotency key was."}, needStore,
		func(t *testing.T, s *subject) {
			e := s.create(t, keyedEvent(orgA, "key", 0))
			s.mark(t, orgA)
			s.isRefused(t, e)
			again := keyedEvent(orgA, "key", time.Second)
			s.isRefused(t, again)
			s.isRefused(t, plainEvent(orgA, 0))
			s.isHidden(t, e, again)
			again.Organization = orgB
			s.create(t, again) // which nobody has
		}},

	{Rule{"deletion/adds-no-job", "CreateEventAndAdd in a marked organization adds no job."}, needTx,
		func(t *testing.T, s *subject) {
			s.mark(t, orgA)
			_, _, err := s.createAndAdd(t, plainEvent(orgA, 0), window())
			require.ErrorIs(t, err, mortise.ErrDeleted)
			s.hasJobs(t)
		}},

	{Rule{"deletion/hides-keys",
		"From the mark on, KeyByDigest and UpdateKey of the organization's keys are ErrNotFound and call no " +
			"update, and ListKeys is empty."}, needKeys,
		func(t *testing.T, s *subject) {
			k := s.addKey(t, newKey(orgA, 0))
			s.mark(t, orgA)
			_, err := s.Keys.KeyByDigest(t.Context(), k.Digest)
			require.ErrorIs(t, err, mortise.ErrNotFound, "KeyByDigest of a deleted organization's key")
			err = s.Keys.UpdateKey(t.Context(), orgA, k.ID, neverCalled[trigger.APIKey](t))
			require.ErrorIs(t, err, mortise.ErrNotFound, "UpdateKey of a deleted organization's key")
			for _, after := range []mortise.Cursor{"", mortise.Position{At: moment(-time.Hour), ID: string(uuid.Nil[:])}.Cursor()} {
				page, err := s.Keys.ListKeys(t.Context(), orgA, after, 10)
				require.NoError(t, err)
				require.Empty(t, page.Items, "ListKeys of a deleted organization")
				require.Empty(t, page.Next, "Next of ListKeys of a deleted organization")
			}
		}},

	{Rule{"deletion/refuses-keys",
		"CreateKey in a marked organization is ErrDeleted and stores nothing, also of a key that was there."}, needKeys,
		func(t *testing.T, s *subject) {
			k := s.addKey(t, newKey(orgA, 0))
			s.mark(t, orgA)
			other := newKey(orgA, 0)
			require.ErrorIs(t, s.Keys.CreateKey(t.Context(), k), mortise.ErrDeleted)
			require.ErrorIs(t, s.Keys.CreateKey(t.Context(), other), mortise.ErrDeleted)
			other.Organization = orgB
			s.hasKey(t, s.addKey(t, other)) // which nobody has
		}},

	{Rule{"deletion/hides-organization",
		"From the mark on, Setup returns ErrNotFound, and UpdateOrganization is ErrDeleted and calls no update."},
		needOrganizations,
		func(t *testing.T, s *subject) {
			s.setup(t, orgA, 2)
			s.mark(t, orgA)
			_, err := s.Organizations.Setup(t.Context(), orgA)
			require.ErrorIs(t, err, mortise.ErrNotFound, "Organization of a deleted organization")
			err = s.Organizations.UpdateOrganization(t.Context(), orgA, neverCalled[trigger.Organization](t))
			require.ErrorIs(t, err, mortise.ErrDeleted, "UpdateOrganization of a deleted organization")
			_, err = s.Organizations.Setup(t.Context(), orgA)
			require.ErrorIs(t, err, mortise.ErrNotFound, "Organization after an update that was refused")
		}},

	{Rule{"deletion/first-time-stays",
		"MarkDeleted of an organization that is marked returns the time of the first mark, in UTC, to the " +
			"microsecond, also when everything is removed. The organization need not have anything."}, needStore,
		func(t *testing.T, s *subject) {
			for _, part := range s.deletions() {
				org := uuid.NewString()
				first := moment(123456 * time.Microsecond)
				for i, at := range []time.Time{first, first.Add(time.Hour), first.Add(-time.Hour), first.Add(2 * time.Hour)} {
					since, err := part.MarkDeleted(t.Context(), org, at)
					require.NoError(t, err)
					conformance.SameTime(t, "the time of the mark", first, &since)
					if i == 2 {
						s.mark(t, org)
						s.removeAll(t, org, 10)
					}
				}
			}
		}},

	{Rule{"deletion/not-marked",
		"RemoveDeleted of an organization that is not marked is ErrNotFound, with a limit of 0, too, and removes " +
			"nothing. With a limit of 0 it is no error if the organization is marked."}, needStore,
		func(t *testing.T, s *subject) {
			e := s.create(t, plainEvent(orgA, 0))
			for _, part := range s.deletions() {
				for _, limit := range []int{0, 10} {
					_, _, err := part.RemoveDeleted(t.Context(), orgA, limit)
					require.ErrorIs(t, err, mortise.ErrNotFound, "RemoveDeleted without a mark, limit %d", limit)
				}
			}
			sameEvent(t, e, s.get(t, e))
			s.mark(t, orgA)
			for _, part := range s.deletions() {
				_, _, err := part.RemoveDeleted(t.Context(), orgA, 0)
				require.NoError(t, err, "RemoveDeleted of a marked organization with limit 0")
			}
		}},

	{Rule{"deletion/ended-context", endedText}, needStore,
		func(t *testing.T, s *subject) {
			for _, part := range s.deletions() {
				ended, cancel := context.WithCancel(t.Context())
				cancel()
				_, err := part.MarkDeleted(ended, orgA, moment(0))
				isFailure(t, "MarkDeleted", err)
				s.mark(t, orgB)
				for _, limit := range []int{0, 10} {
					_, _, err = part.RemoveDeleted(ended, orgB, limit)
					isFailure(t, "RemoveDeleted", err)
				}
			}
			_, _, err := s.Store.RemoveDeleted(t.Context(), orgA, 0)
			require.ErrorIs(t, err, mortise.ErrNotFound, "after a MarkDeleted that failed")
		}},
}
