package sound_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/mark"
)

// TestMarks: an error keeps its text and what it is, and marks of nil are no errors.
func TestMarks(t *testing.T) {
	for _, test := range []struct {
		mark     func(error) error
		sentinel error
	}{
		{sound.BadMedia, sound.ErrBadMedia},
		{sound.Incomplete, sound.ErrIncomplete},
		{sound.Permanent, sound.ErrPermanent},
		{func(err error) error { return sound.RetryAfter(err, time.Second) }, errBroken},
	} {
		require.NoError(t, test.mark(nil))
		err := test.mark(errBroken)
		require.ErrorIs(t, err, errBroken)
		require.ErrorIs(t, err, test.sentinel)
		require.EqualError(t, err, errBroken.Error())
	}
}

// TestRetryAfterIsBounded: nobody puts off a run for longer than a day.
func TestRetryAfterIsBounded(t *testing.T) {
	for said, want := range map[time.Duration]time.Duration{
		-time.Hour: 0, time.Minute: time.Minute, 25 * time.Hour: 24 * time.Hour,
	} {
		wait, ok := mark.Wait(sound.RetryAfter(errBroken, said))
		assert.True(t, ok)
		assert.Equal(t, want, wait)
	}
}
