package authmgmt_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/authmgmt"
	"github.com/seed-6363c74e/mortise/authmgmt/access"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// stuck is a store whose steps do nothing, and always say that there is more.
type stuck struct{ *memory.AuthMgmt }

func (stuck) PruneAudit(context.Context, time.Time, int) (int, bool, error)  { return 0, true, nil }
func (stuck) PruneTokens(context.Context, time.Time, int) (int, bool, error) { return 0, true, nil }
func (stuck) PruneInvitations(context.Context, time.Time, int) (int, bool, error) {
	return 0, true, nil
}
func (stuck) RemoveDeleted(context.Context, string, int) (int, bool, error) { return 0, true, nil }

// TestStepsThatDoNothing: they are a failure of the store, and no endless loop.
func TestStepsThatDoNothing(t *testing.T) {
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	s, err := authmgmt.New(authmgmt.Backend{Store: stuck{db.AuthMgmt().Store.(*memory.AuthMgmt)}}, nil)
	require.NoError(t, err)
	for name, keep := range map[string]authmgmt.Retention{
		"PruneAudit": {Audit: time.Hour}, "PruneTokens": {Tokens: time.Hour}, "PruneInvitations": {Invitations: time.Hour},
	} {
		_, err = s.Prune(t.Context(), keep)
		require.ErrorIs(t, err, mortise.ErrUnavailable)
		require.ErrorContains(t, err, name)
	}
	more, err := s.DeleteOrganization(t.Context(), "acme", authmgmt.Caller{Access: access.Full()})
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.ErrorContains(t, err, "RemoveDeleted")
	require.False(t, more)
}
