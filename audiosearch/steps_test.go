package audiosearch_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// stuck is a store whose steps do nothing, and always say that there is more.
type stuck struct{ *memory.AudioSearch }

func (stuck) PruneRuns(context.Context, time.Time, int) (int, bool, error) { return 0, true, nil }
func (stuck) TrimRuns(context.Context, int, int) (int, bool, error)        { return 0, true, nil }
func (stuck) Compact(context.Context, audiosearch.CompactOptions, int) (int, bool, error) {
	return 0, true, nil
}
func (stuck) RemoveDeleted(context.Context, string, int) (int, bool, error) { return 0, true, nil }

// TestStepsThatDoNothing: they are a failure of the store, and no endless loop.
func TestStepsThatDoNothing(t *testing.T) {
	db := newMemory(t)
	r := newRigOn(t, db, stuck{db.AudioSearch().Store.(*memory.AudioSearch)}, nil)
	_, err := r.Prune(t.Context(), time.Now())
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.ErrorContains(t, err, "PruneRuns")
	_, err = r.sweeper.RunOnce(t.Context())
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.ErrorContains(t, err, "TrimRuns")
	require.ErrorContains(t, err, "Compact")
	more, err := r.DeleteOrganization(t.Context(), "acme", "")
	require.ErrorIs(t, err, mortise.ErrUnavailable)
	require.ErrorContains(t, err, "RemoveDeleted")
	require.False(t, more)
}
