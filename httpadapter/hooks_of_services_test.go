package httpadapter_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/httpadapter"
)

const aTrigger = `{"instructions":"do it"}`

// A Directory asks another service, where a vault was deleted: the directory is away, and
// the API key is good.
func TestDirectoryOfADeletedVault(t *testing.T) {
	r := newRig(t, nil)
	r.store.dirErr = fmt.Errorf("read the tenant's vault: %w", mortise.ErrDeleted)
	w := r.post(aTrigger)
	assert.Equal(t, http.StatusServiceUnavailable, w.Code, w.Body.String())
	assert.Contains(t, r.log.String(), "request failed")
}

// A problem of a Directory's own request is not a problem of the caller's.
func TestDirectoryWithAnotherServicesProblem(t *testing.T) {
	r := newRig(t, nil)
	r.store.dirErr = fmt.Errorf("list the tenant's vaults: %w", &mortise.ValidationError{Problems: []mortise.Problem{
		{Path: mortise.Path{{Field: "limit"}}, Message: "must be between 1 and 1000"},
	}})
	w := r.post(aTrigger)
	assert.Equal(t, http.StatusServiceUnavailable, w.Code, w.Body.String())
}

// A queue whose stream is gone does not make an event unknown.
func TestQueueWithoutItsStream(t *testing.T) {
	r := newRig(t, nil)
	r.queue.err = fmt.Errorf("broker: stream: %w", mortise.ErrNotFound)
	w := r.post(aTrigger)
	assert.Equal(t, http.StatusInternalServerError, w.Code, w.Body.String())
}

// The errors of a domain mean nothing in Authorize.
func TestAuthorizeOfADeletedProject(t *testing.T) {
	opts := &httpadapter.TriggerOptions{History: true}
	opts.Authorize = func(context.Context, httpadapter.Principal, access.Action, access.Resource) error {
		return fmt.Errorf("look up the project: %w", mortise.ErrDeleted)
	}
	r := newRig(t, opts)
	w := r.post(aTrigger)
	assert.Equal(t, http.StatusServiceUnavailable, w.Code, w.Body.String())
	assert.Contains(t, r.log.String(), "request failed")
}

func TestHasDatasetOfAnotherService(t *testing.T) {
	for _, is := range []error{mortise.ErrNotFound, mortise.ErrDeleted} {
		r := newAuthRig(t, nil, &authmgmt.Options{HasDataset: func(context.Context, string, string) (bool, error) {
			return false, fmt.Errorf("catalog service: tenant: %w", is)
		}})
		r.client("acme", "c1", access.Role{ID: "viewer"})
		w := r.as("full", http.MethodPut, clients+"/c1", `{"roles":[{"role_id":"viewer"}],"roles_context":"dataset:d2"}`)
		assert.Equal(t, http.StatusServiceUnavailable, w.Code, w.Body.String())
	}
}

// A Grant fails for a missing vault: the invitation is there all the same.
func TestGrantOfAMissingVault(t *testing.T) {
	r := newAuthRig(t, nil, &authmgmt.Options{Grant: func(context.Context, authmgmt.Acceptance) (mortise.Secret, error) {
		return mortise.Secret{}, fmt.Errorf("put the member's vault: %w", mortise.ErrNotFound)
	}})
	i := r.invitation("acme", "i1")
	_, _, err := r.service.Accept(t.Context(), r.link(&i), "")
	require.ErrorIs(t, err, authmgmt.ErrGrantPending)
	assert.False(t, errors.Is(err, mortise.ErrNotFound))
}

// A Scorer that asks another service.
func TestScorerOfAnotherService(t *testing.T) {
	for _, is := range []error{mortise.ErrDeleted, &mortise.ValidationError{Problems: []mortise.Problem{
		{Path: mortise.Path{{Field: "limit"}}, Message: "must be between 1 and 1000"},
	}}} {
		r := newSoundRig(t, nil, nil)
		r.scorer.fail(fmt.Errorf("models service: %w", is))
		w := r.post(`{"dataset_id":"calls","audio_class":"Glass"}`)
		assert.Equal(t, http.StatusServiceUnavailable, w.Code, w.Body.String())
	}
}

// A request whose Authorize panics counts with status 500.
func TestPanicIsObserved(t *testing.T) {
	seen := new(lockedObserver)
	opts := &httpadapter.TriggerOptions{}
	opts.Observer = seen.observe
	opts.Authorize = func(context.Context, httpadapter.Principal, access.Action, access.Resource) error { panic("x") }
	r := newRig(t, opts)
	assert.Panics(t, func() { r.post(aTrigger) })
	if assert.Len(t, seen.list, 1) {
		assert.Equal(t, http.StatusInternalServerError, seen.list[0].Status)
	}
}
