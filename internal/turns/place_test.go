package turns

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// holders takes a place for each organization, one behind the other. The name is sent when it
// is there.
func holders(t *testing.T, s *Turns, orgs ...string) <-chan *Place {
	got := make(chan *Place)
	for _, org := range orgs {
		before := s.waiting()
		go func() {
			if p, err := s.Hold(t.Context(), org); err == nil {
				got <- p
			}
		}()
		for s.waiting() == before {
			runtime.Gosched()
		}
	}
	return got
}

func TestPlaceGivesWay(t *testing.T) {
	s := New(1, 1)
	first, err := s.Hold(t.Context(), "a")
	require.NoError(t, err)
	got := holders(t, s, "a", "a")
	require.NoError(t, first.GiveWay(t.Context(), 0))
	require.Equal(t, 2, s.waiting(), "not to its own organization")

	other := holders(t, s, "b", "c")
	require.NoError(t, first.GiveWay(t.Context(), time.Hour))
	require.Equal(t, 4, s.waiting(), "not yet")
	back := make(chan error)
	go func() { back <- first.GiveWay(t.Context(), 0) }()
	for _, org := range []string{"b", "c"} {
		p := <-other
		require.Equal(t, org, p.org)
		p.End()
		p.End()
	}
	require.NoError(t, <-back, "before what its organization has not begun")
	require.Equal(t, 2, s.waiting())
	first.End()
	(<-got).End()
	(<-got).End()
	require.Equal(t, 1, s.free)
	require.Empty(t, s.queue)
}

func TestPlaceEndsMeanwhile(t *testing.T) {
	s := New(1, 1)
	first, err := s.Hold(t.Context(), "a")
	require.NoError(t, err)
	other := holders(t, s, "b")
	ctx, cancel := context.WithCancelCause(t.Context())
	back := make(chan error)
	go func() { back <- first.GiveWay(ctx, 0) }()
	p := <-other
	cancel(context.DeadlineExceeded)
	require.ErrorIs(t, <-back, context.DeadlineExceeded)
	require.NoError(t, first.GiveWay(t.Context(), 0), "it has none")
	first.End()
	require.Zero(t, s.free, "it is the other one's")

	// Who is left behind while waiting does not keep what comes too late.
	late := holders(t, s, "c")
	second := make(chan error)
	go func() { second <- p.GiveWay(t.Context(), 0) }()
	c := <-late
	p.End()
	c.End()
	require.NoError(t, <-second)
	require.Equal(t, 1, s.free)
	_, err = s.Hold(ctx, "d")
	require.NoError(t, err, "one was free")
	_, err = s.Hold(ctx, "d")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Empty(t, s.queue)
}
