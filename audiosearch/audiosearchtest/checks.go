package audiosearchtest

import (
	"errors"
	"testing"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

const (
	orgA = "org-a"
	orgB = "org-b"
)

// moment returns a time of the suites' own calendar.
func moment(d time.Duration) time.Time { return conformance.Moment(d) }

// sentinels are the errors that say something else than "unavailable".
func sentinels() []error {
	return []error{
		mortise.ErrNotFound, audiosearch.ErrDatasetNotFound, audiosearch.ErrVideoNotFound, audiosearch.ErrRunNotFound, mortise.ErrExists,
		audiosearch.ErrFinished, audiosearch.ErrConflict, sound.ErrFormat, sound.ErrBadMedia,
		audiosearch.ErrNotScored, mortise.ErrLeaseLost,
		audiosearch.ErrTooManyRuns, mortise.ErrDeleted,
	}
}

// isFailure requires an error that callers take for "unavailable".
func isFailure(t *testing.T, call string, err error) {
	t.Helper()
	conformance.IsFailure(t, call, err, sentinels())
}

func isConflict(err error) bool { return errors.Is(err, audiosearch.ErrConflict) }
