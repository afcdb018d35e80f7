package e2e

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

// accounts is what a host knows of its organizations: their plans.
type accounts map[string]string

// Setup implements [trigger.Directory].
func (a accounts) Setup(_ context.Context, org string) (trigger.Organization, error) {
	if _, ok := a[org]; !ok {
		return trigger.Organization{}, mortise.ErrNotFound
	}
	return trigger.Organization{ID: org, SetupComplete: true, Collections: []trigger.Collection{{ID: uuid.Max, Ready: true}}}, nil
}

// AccessControl implements [authmgmt.Directory].
func (a accounts) AccessControl(_ context.Context, org string) (authmgmt.Organization, error) {
	plan, ok := a[org]
	if !ok {
		return authmgmt.Organization{}, mortise.ErrNotFound
	}
	return authmgmt.Organization{ID: org, RBAC: plan == "enterprise"}, nil
}

// One type of a host is the directory of both domains that ask for one.
func TestOneDirectory(t *testing.T) {
	host := accounts{"acme": "enterprise", "small": "free"}
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	docs, people := db.Trigger(), db.AuthMgmt()
	docs.Directory, people.Directory = host, host
	triggers, err := trigger.New(docs, nil)
	require.NoError(t, err)
	credentials, err := authmgmt.New(people, nil)
	require.NoError(t, err)

	operator := authmgmt.Caller{Actor: "setup", Access: access.Full()}
	for org, want := range map[string]struct{ submit, roles error }{
		"acme":    {nil, nil},
		"small":   {nil, authmgmt.ErrRBACDisabled},
		"unknown": {trigger.ErrNotConfigured, authmgmt.ErrRBACDisabled},
	} {
		_, err := triggers.Submit(t.Context(), org, "setup", trigger.Submission{Instructions: "Document the release."})
		require.ErrorIs(t, err, want.submit, org)
		_, _, err = credentials.CreateClient(t.Context(), org, operator, authmgmt.NewClient{Name: "ci", Roles: []access.Role{{ID: "viewer"}}})
		require.ErrorIs(t, err, want.roles, org)
	}
}
