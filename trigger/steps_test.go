package trigger_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/storage/memory"
	"github.com/seed-6363c74e/mortise/trigger"
)

// stuck is a store whose steps do nothing, and always say that there is more.
type stuck struct{ *memory.Trigger }

func (stuck) Prune(context.Context, trigger.Status, time.Time, time.Time, int) (int, bool, error) {
	return 0, true, nil
}

func (stuck) RemoveDeleted(context.Context, string, int) (int, bool, error) { return 0, true, nil }

// TestStepsThatDoNothing: they are a failure of the store, and no endless loop.
func TestStepsThatDoNothing(t *testing.T) {
	db := openMemory(t)
	s, err := trigger.New(trigger.Backend{Store: stuck{db.Trigger().Store.(*memory.Trigger)}, Queue: db.Queue(nil)}, nil)
	require.NoError(t, err)
	_, err = s.Prune(t.Context(), trigger.StatusFailed, time.Now())
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.ErrorContains(t, err, "Prune")
	more, err := s.DeleteOrganization(t.Context(), "acme", "")
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.ErrorContains(t, err, "RemoveDeleted")
	require.False(t, more)
}
