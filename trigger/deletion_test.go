package trigger_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// setUp makes an organization of the fake ready.
func setUp(t *testing.T, s *trigger.Service, org string) {
	t.Helper()
	require.NoError(t, s.UpdateOrganization(t.Context(), org, "", func(o *trigger.Organization) error {
		o.SetupComplete = true
		o.SetCollection(uuid.UUID{1}, true)
		return nil
	}))
}

// deleteAll deletes an organization, and returns how many calls that took.
func deleteAll(t *testing.T, s *trigger.Service, org string, by mortise.Actor) (calls int) {
	t.Helper()
	for more := true; more; calls++ {
		var err error
		more, err = s.DeleteOrganization(t.Context(), org, by)
		require.NoError(t, err)
		require.Less(t, calls, 100, "it does not end")
	}
	return calls
}

func TestDeleteOrganization(t *testing.T) {
	for _, separate := range []bool{false, true} {
		t.Run(fmt.Sprintf("separate queue %v", separate), func(t *testing.T) {
			var logs bytes.Buffer
			f := triggertest.New(t, &triggertest.Options{
				Directory: true, SeparateQueue: separate, Processor: returning(trigger.Permanent(errWork)),
				Service: trigger.Options{Env: mortise.Env{Logger: slog.New(slog.NewTextHandler(&logs, nil))}},
			})
			type one struct {
				failed, waiting trigger.Event
				key             mortise.Secret
				record          trigger.APIKey
			}
			made := make(map[string]one)
			sub := trigger.Submission{Instructions: "a", IdempotencyKey: "k"}
			for _, org := range []string{"acme", "acme2"} {
				setUp(t, f.Service, org)
				var o one
				var err error
				o.failed, err = f.Submit(t.Context(), org, "", sub)
				require.NoError(t, err)
				f.Drain(t.Context())
				o.waiting, err = f.Submit(t.Context(), org, "", trigger.Submission{Instructions: "b"})
				require.NoError(t, err)
				o.record, o.key, err = f.IssueKey(t.Context(), org, "", "")
				require.NoError(t, err)
				_, err = f.VerifyKey(t.Context(), o.key.Reveal()) // whose use is to be written
				require.NoError(t, err)
				made[org] = o
			}
			logs.Reset()
			before := len(f.Observations())

			assert.Equal(t, 1, deleteAll(t, f.Service, "acme", "ann"))
			assert.Equal(t, 1, deleteAll(t, f.Service, "acme", "ben"), "once more changes nothing")
			o := made["acme"]
			_, err := f.Event(t.Context(), "acme", o.failed.ID)
			require.ErrorIs(t, err, mortise.ErrNotFound)
			page, err := f.ListEvents(t.Context(), "acme", trigger.EventQuery{})
			require.NoError(t, err)
			assert.Empty(t, page)
			counts, err := f.Counts(t.Context(), "acme")
			require.NoError(t, err)
			assert.Zero(t, counts)
			_, err = f.Retry(t.Context(), "acme", "", o.failed.ID)
			require.ErrorIs(t, err, mortise.ErrNotFound)
			for _, sub := range []trigger.Submission{sub, {Instructions: "other"}} {
				_, err = f.Submit(t.Context(), "acme", "", sub)
				require.ErrorIs(t, err, mortise.ErrDeleted)
			}
			require.ErrorIs(t, f.UpdateOrganization(t.Context(), "acme", "", func(*trigger.Organization) error { return nil }), mortise.ErrDeleted)
			_, err = f.VerifyKey(t.Context(), o.key.Reveal())
			require.ErrorIs(t, err, trigger.ErrInvalidKey)
			_, err = f.FindKey(t.Context(), o.key.Reveal())
			require.ErrorIs(t, err, mortise.ErrNotFound)
			keys, err := f.ListKeys(t.Context(), "acme", "", 0)
			require.NoError(t, err)
			assert.Empty(t, keys)
			require.ErrorIs(t, f.RevokeKey(t.Context(), "acme", "", o.record.ID), mortise.ErrNotFound)
			_, _, err = f.IssueKey(t.Context(), "acme", "", "")
			require.ErrorIs(t, err, mortise.ErrDeleted)
			_, err = f.ImportKey(t.Context(), "acme", "", "", o.key.Reveal())
			require.ErrorIs(t, err, mortise.ErrDeleted)
			require.NoError(t, f.FlushKeyUse(t.Context()))
			for range 8 { // a job that is left is tried again for a minute
				f.Drain(t.Context())
				f.Advance(time.Minute)
			}
			_, err = f.FindKey(t.Context(), o.key.Reveal())
			require.ErrorIs(t, err, mortise.ErrNotFound)

			var deleted []mortise.Observation
			for _, seen := range f.Observations()[before:] {
				if seen.Kind == mortise.KindOrganizationDeleted {
					deleted = append(deleted, seen)
				} else if seen.Kind != mortise.KindRefused {
					assert.Equal(t, "acme2", seen.Organization, seen.Kind)
				}
			}
			assert.Equal(t, []mortise.Observation{{Service: "trigger", Kind: mortise.KindOrganizationDeleted, Organization: "acme", Actor: "ann"}}, deleted)
			assert.Equal(t, 1, bytes.Count(logs.Bytes(), []byte("trigger: an organization was deleted")))
			assert.Contains(t, logs.String(), "organization=acme actor=ann")
			assert.NotContains(t, logs.String(), "trying again")

			other := made["acme2"]
			e, err := f.Event(t.Context(), "acme2", other.waiting.ID)
			require.NoError(t, err)
			assert.Equal(t, trigger.StatusFailed, e.Status, "its job was done meanwhile")
			_, err = f.VerifyKey(t.Context(), other.key.Reveal())
			require.NoError(t, err)
			_, err = f.Retry(t.Context(), "acme2", "", other.failed.ID)
			require.NoError(t, err)
		})
	}
}

func TestDeleteOrganizationInSteps(t *testing.T) {
	f := triggertest.New(t, nil)
	for range 1500 {
		submit(t, f.Service, "a")
	}
	assert.Greater(t, deleteAll(t, f.Service, "acme", ""), 1)
	backlog, err := f.Backlog(t.Context())
	require.NoError(t, err)
	assert.Zero(t, backlog)
	assert.Zero(t, f.Drain(t.Context()), "jobs that are left")

	var invalid *mortise.ValidationError
	_, err = f.DeleteOrganization(t.Context(), "", "")
	require.ErrorAs(t, err, &invalid)
}

// An attempt that runs while its organization is deleted ends quietly, whatever it comes
// to.
func TestDeleteOrganizationUnderAnAttempt(t *testing.T) {
	for _, separate := range []bool{false, true} {
		for _, result := range []error{nil, errWork, trigger.Permanent(errWork)} {
			t.Run(fmt.Sprintf("separate queue %v, %v", separate, result), func(t *testing.T) {
				var logs bytes.Buffer
				var f *triggertest.Fake
				f = triggertest.New(t, &triggertest.Options{
					SeparateQueue: separate,
					Processor: func(context.Context, trigger.Event) (trigger.Outcome, error) {
						deleteAll(t, f.Service, "acme", "ann")
						return trigger.Outcome{Summary: "late"}, result
					},
					Service: trigger.Options{Env: mortise.Env{Logger: slog.New(slog.NewTextHandler(&logs, &slog.HandlerOptions{Level: slog.LevelWarn}))}},
				})
				submit(t, f.Service, "a")
				for range 8 {
					f.Drain(t.Context())
					f.Advance(time.Minute)
				}
				assert.Equal(t, []mortise.Kind{mortise.KindSubmitted, mortise.KindStarted, mortise.KindOrganizationDeleted}, kinds(f))
				assert.Empty(t, f.History())
				assert.Zero(t, f.Drain(t.Context()), "jobs that are left")
				assert.Empty(t, logs.String())
			})
		}
	}
}

// A deletion that was cut off between two marks is ended by the next call, and told of
// once.
func TestDeleteOrganizationCutOff(t *testing.T) {
	f := triggertest.New(t, nil)
	e := submit(t, f.Service, "a")
	heal := f.Break(triggertest.StorePart)
	_, err := f.DeleteOrganization(t.Context(), "acme", "ann")
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	heal()
	f.Advance(time.Second)
	deleteAll(t, f.Service, "acme", "ben")
	require.Equal(t, []mortise.Kind{mortise.KindSubmitted, mortise.KindOrganizationDeleted}, kinds(f))
	assert.Equal(t, mortise.Actor("ann"), f.Observations()[1].Actor)
	_, err = f.Event(t.Context(), "acme", e.ID)
	require.ErrorIs(t, err, mortise.ErrNotFound)
}

// notedDeletions is a backend that notes what is asked of it, under a name.
type notedDeletions struct {
	*memory.Trigger
	name  string
	notes *[]string
}

func (n *notedDeletions) MarkDeleted(ctx context.Context, org string, at time.Time) (time.Time, error) {
	*n.notes = append(*n.notes, n.name+" marks")
	return n.Trigger.MarkDeleted(ctx, org, at)
}

func (n *notedDeletions) RemoveDeleted(ctx context.Context, org string, limit int) (int, bool, error) {
	removed, more, err := n.Trigger.RemoveDeleted(ctx, org, limit)
	if err == nil {
		*n.notes = append(*n.notes, n.name+" removes")
	}
	return removed, more, err
}

// hostDirectory is a host's own, which cannot be compared.
type hostDirectory struct {
	notes *[]string
	_     []string
}

func (hostDirectory) Setup(_ context.Context, org string) (trigger.Organization, error) {
	return trigger.Organization{ID: org, SetupComplete: true, Collections: []trigger.Collection{{Ready: true}}}, nil
}

func (d hostDirectory) MarkDeleted(_ context.Context, _ string, at time.Time) (time.Time, error) {
	*d.notes = append(*d.notes, "directory marks")
	return at, nil
}

func (d hostDirectory) RemoveDeleted(context.Context, string, int) (int, bool, error) {
	*d.notes = append(*d.notes, "directory removes")
	return 0, false, nil
}

// Each part is marked once, those with credentials first, and then takes its steps.
func TestDeleteOrganizationParts(t *testing.T) {
	part := func(name string, notes *[]string) *notedDeletions {
		db, err := memory.Open(t.Context(), nil)
		require.NoError(t, err)
		return &notedDeletions{db.Trigger().Store.(*memory.Trigger), name, notes}
	}
	queue := func() mortise.Queue {
		db, err := memory.Open(t.Context(), nil)
		require.NoError(t, err)
		return db.Queue(nil)
	}
	quiet := slog.New(slog.DiscardHandler)

	var notes []string
	store, keys := part("store", &notes), part("keys", &notes)
	s, err := trigger.New(trigger.Backend{Store: store, Queue: queue(), Directory: hostDirectory{notes: &notes}, Keys: keys}, &trigger.Options{Env: mortise.Env{Logger: quiet}})
	require.NoError(t, err)
	deleteAll(t, s, "acme", "")
	assert.Equal(t, []string{
		"keys marks", "store marks", "directory marks", "keys removes", "store removes", "directory removes",
	}, notes)
	_, err = s.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "a"})
	require.ErrorIs(t, err, mortise.ErrDeleted, "the host's directory still has it")

	notes = nil
	s, err = trigger.New(trigger.Backend{Store: store, Queue: queue(), Directory: store, Keys: store}, &trigger.Options{Env: mortise.Env{Logger: quiet}})
	require.NoError(t, err)
	deleteAll(t, s, "other", "")
	assert.Equal(t, []string{"store marks", "store removes"}, notes, "one value is one part")
}
