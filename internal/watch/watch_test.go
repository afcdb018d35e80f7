package watch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/watch"
)

func TestRun(t *testing.T) {
	const stall, grace = time.Minute, 5 * time.Second
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		work  func(ctx context.Context, beat func(time.Duration)) error
		want  error
		after time.Duration
	}{
		"done":   {func(context.Context, func(time.Duration)) error { return nil }, nil, 0},
		"failed": {func(context.Context, func(time.Duration)) error { return broken }, broken, 0},
		"slow, but getting on": {func(ctx context.Context, beat func(time.Duration)) error {
			for range 10 {
				time.Sleep(50 * time.Second)
				beat(stall)
			}
			return ctx.Err()
		}, nil, 500 * time.Second},
		"stalled": {func(ctx context.Context, _ func(time.Duration)) error {
			<-ctx.Done()
			return ctx.Err()
		}, watch.ErrStalled, stall},
		"deaf": {func(context.Context, func(time.Duration)) error {
			time.Sleep(time.Hour)
			return nil
		}, watch.ErrStalled, stall + grace},
		"late beats do not help": {func(_ context.Context, beat func(time.Duration)) error {
			for range 100 {
				time.Sleep(61 * time.Second)
				beat(stall)
			}
			return nil
		}, watch.ErrStalled, stall + grace},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				err := watch.Run(t.Context(), stall, grace, asError, test.work)
				assert.Equal(t, test.after, time.Since(start))
				if test.want == nil {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, test.want)
				}
				time.Sleep(3 * time.Hour) // what was left behind ends
			})
		})
	}
	err := watch.Run(t.Context(), stall, grace, asError, func(context.Context, func(time.Duration)) error { panic("oh") })
	require.ErrorContains(t, err, "oh")
	err = watch.Run(t.Context(), stall, grace, asError, func(context.Context, func(time.Duration)) error { runtime.Goexit(); return nil })
	require.ErrorContains(t, err, "goroutine was ended")
}

// asError is what a panic becomes here.
func asError(p any) error { return fmt.Errorf("panic: %v", p) }

// TestBecause: the reason of an end that came, and nothing else.
func TestBecause(t *testing.T) {
	broken := errors.New("broken")
	ctx, cancel := context.WithCancelCause(t.Context())
	assert.Equal(t, broken, watch.Because(ctx, broken))
	cancel(watch.ErrStalled)
	require.NoError(t, watch.Because(ctx, nil))
	require.ErrorIs(t, watch.Because(ctx, broken), watch.ErrStalled)
	require.ErrorIs(t, watch.Because(ctx, broken), broken)
}

// TestCopy: it gets on by parts, and ends with its context or with what it reads.
func TestCopy(t *testing.T) {
	var copied bytes.Buffer
	content, beats := bytes.Repeat([]byte("abc"), 3<<20), 0
	require.NoError(t, watch.Copy(t.Context(), &copied, bytes.NewReader(content), func() { beats++ }))
	assert.True(t, bytes.Equal(content, copied.Bytes()))
	assert.Equal(t, 3, beats)
	ended, cancel := context.WithCancel(t.Context())
	during := func() { cancel(); beats++ }
	require.ErrorIs(t, watch.Copy(ended, io.Discard, bytes.NewReader(content), during), context.Canceled)
	assert.Equal(t, 4, beats)
	broken := errors.New("broken")
	assert.ErrorIs(t, watch.Copy(t.Context(), io.Discard, iotest.ErrReader(broken), func() {}), broken)
}
