package audiosearchtest

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

const (
	orgA = "org-a"
	orgB = "org-b"
)

// moment returns a time of the suite's own calendar, well in the past. It has
// microseconds, which stores keep.
func moment(d time.Duration) time.Time {
	return time.Date(2024, 3, 14, 15, 9, 26, 535_897_000, time.UTC).Add(d)
}

// sameTime compares two times and makes got identical to want, so that the rest can be
// compared as a whole.
func sameTime(t *testing.T, field string, want time.Time, got *time.Time) {
	t.Helper()
	require.True(t, want.Equal(*got), "%s: want %v, got %v", field, want, *got)
	require.Equal(t, time.UTC, got.Location(), "%s is not in UTC", field)
	*got = want
}

// sentinels are the errors that say something else than "unavailable".
func sentinels() []error {
	return []error{
		audiosearch.ErrNotFound, audiosearch.ErrDatasetNotFound, audiosearch.ErrVideoNotFound, audiosearch.ErrRunNotFound, audiosearch.ErrExists,
		audiosearch.ErrFinished, audiosearch.ErrConflict, sound.ErrFormat, sound.ErrBadMedia,
		audiosearch.ErrNotScored, mortise.ErrLeaseLost,
		audiosearch.ErrTooManyRuns, audiosearch.ErrDeleted,
	}
}

// isFailure requires an error that callers take for "unavailable".
func isFailure(t *testing.T, call string, err error) {
	t.Helper()
	require.Error(t, err, call)
	for _, sentinel := range sentinels() {
		require.NotErrorIs(t, err, sentinel, call)
	}
}

func isConflict(err error) bool { return errors.Is(err, audiosearch.ErrConflict) }
