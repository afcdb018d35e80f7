package trigger_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/trigger"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

func TestOrganizationsState(t *testing.T) {
	ready, notReady := uuid.New(), uuid.New()
	set := func(f func(*trigger.Organization)) func(*trigger.Organization) error {
		return func(o *trigger.Organization) error {
			f(o)
			return nil
		}
	}
	for name, test := range map[string]struct {
		update     func(*trigger.Organization) error // nil: unknown organization
		collection uuid.UUID
		want       error
	}{
		"unknown":          {nil, uuid.Nil, trigger.ErrNotConfigured},
		"setup unfinished": {set(func(o *trigger.Organization) { o.SetCollection(ready, true) }), uuid.Nil, trigger.ErrNotConfigured},
		"no collection":    {set(func(o *trigger.Organization) { o.SetupComplete = true }), uuid.Nil, trigger.ErrNoEligibleCollection},
		"none ready":       {set(func(o *trigger.Organization) { o.SetupComplete = true; o.SetCollection(notReady, false) }), uuid.Nil, trigger.ErrNoEligibleCollection},
		"one ready": {set(func(o *trigger.Organization) {
			o.SetupComplete = true
			o.SetCollection(ready, true)
			o.SetCollection(notReady, false)
		}), uuid.Nil, nil},
		"this one ready": {set(func(o *trigger.Organization) { o.SetupComplete = true; o.SetCollection(ready, true) }), ready, nil},
		"this one not ready": {set(func(o *trigger.Organization) {
			o.SetupComplete = true
			o.SetCollection(ready, true)
			o.SetCollection(notReady, false)
		}), notReady, trigger.ErrNoEligibleCollection},
		"this one unknown": {set(func(o *trigger.Organization) { o.SetupComplete = true; o.SetCollection(ready, true) }), uuid.New(), trigger.ErrNoEligibleCollection},
		"ready and back": {set(func(o *trigger.Organization) {
			o.SetupComplete = true
			o.SetCollection(ready, true)
			o.SetCollection(ready, false)
		}), uuid.Nil, trigger.ErrNoEligibleCollection},
		"setup comes first": {set(func(*trigger.Organization) {}), uuid.New(), trigger.ErrNotConfigured},
		"not ready and ready": {set(func(o *trigger.Organization) {
			o.SetupComplete = true
			o.SetCollection(ready, false)
			o.SetCollection(ready, true)
		}), ready, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := triggertest.New(t, &triggertest.Options{Directory: true})
			if test.update != nil {
				require.NoError(t, f.UpdateOrganization(t.Context(), "acme", "", test.update))
			}
			_, err := f.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "a", Collection: test.collection})
			if test.want == nil {
				require.NoError(t, err)
				require.Len(t, f.History(), 1)
			} else {
				require.ErrorIs(t, err, test.want)
				require.Empty(t, f.History())
			}
		})
	}
}

func TestWithoutADirectoryEveryOrganizationIsReady(t *testing.T) {
	f := triggertest.New(t, nil)
	_, err := f.Submit(t.Context(), "anybody", "", trigger.Submission{Instructions: "a", Collection: uuid.New()})
	require.NoError(t, err)
	err = f.UpdateOrganization(t.Context(), "anybody", "", func(*trigger.Organization) error { return nil })
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

func TestBrokenDirectory(t *testing.T) {
	f := triggertest.New(t, &triggertest.Options{Directory: true})
	f.Break(triggertest.DirectoryPart)
	_, err := f.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "a"})
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.NotErrorIs(t, err, trigger.ErrNotConfigured)
	err = f.UpdateOrganization(t.Context(), "acme", "", func(*trigger.Organization) error { return nil })
	require.ErrorIs(t, err, mortise.ErrUnavailable)
}

func TestUpdateOrganization(t *testing.T) {
	f := triggertest.New(t, &triggertest.Options{Directory: true})
	var invalid *mortise.ValidationError
	require.ErrorAs(t, f.UpdateOrganization(t.Context(), "", "", func(*trigger.Organization) error { return nil }), &invalid)

	refused := errors.New("no")
	err := f.UpdateOrganization(t.Context(), "acme", "", func(o *trigger.Organization) error {
		o.SetupComplete = true
		return refused
	})
	require.Equal(t, refused, err, "the caller's own error comes back as it is")
	_, err = f.Submit(t.Context(), "acme", "", trigger.Submission{Instructions: "a"})
	require.ErrorIs(t, err, trigger.ErrNotConfigured, "and nothing changed")
}

// readOnly is a Directory that cannot be written.
type readOnly struct{}

func (readOnly) Setup(context.Context, string) (trigger.Organization, error) {
	return trigger.Organization{SetupComplete: true, Collections: []trigger.Collection{{ID: uuid.Max, Ready: true}}}, nil
}

func TestReadOnlyDirectory(t *testing.T) {
	db := openMemory(t)
	s, err := trigger.New(trigger.Backend{Store: db.Trigger().Store, Queue: db.Queue(nil), Directory: readOnly{}}, nil)
	require.NoError(t, err)
	submit(t, s, "a")
	err = s.UpdateOrganization(t.Context(), "acme", "", func(*trigger.Organization) error { return nil })
	assert.ErrorIs(t, err, errors.ErrUnsupported)
}
