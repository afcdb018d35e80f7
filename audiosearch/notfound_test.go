package audiosearch_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
)

// TestNotFound: whatever is not there is ErrNotFound and says what it is, and is nothing
// else.
func TestNotFound(t *testing.T) {
	r := newRig(t, nil)
	ctx := t.Context()
	specific := []error{audiosearch.ErrDatasetNotFound, audiosearch.ErrVideoNotFound, audiosearch.ErrRunNotFound}
	_, noDataset := r.Dataset(ctx, org, "none")
	_, noVideo := r.Video(ctx, org, "d", "none")
	_, noRun := r.Run(ctx, org, "d", 7)
	_, noneOfADataset := r.ListRuns(ctx, org, audiosearch.RunQuery{Dataset: "none"})
	for i, err := range []error{noDataset, noVideo, noRun, noneOfADataset} {
		assert.ErrorIs(t, err, mortise.ErrNotFound)
		assert.NotErrorIs(t, err, mortise.ErrUnavailable)
		for j, one := range specific {
			assert.Equal(t, i%3 == j, errors.Is(err, one), "%v is %v", err, one)
		}
	}
	for text, err := range map[string]error{
		"audiosearch: no such dataset": specific[0], "audiosearch: no such video": specific[1], "audiosearch: no such run": specific[2],
	} {
		assert.EqualError(t, err, text)
	}
}
