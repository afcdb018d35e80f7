package turns

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// waiting returns how many wait.
func (t *Turns) waiting() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.queue {
		n += s.waiting.Len()
	}
	return n
}

// inLine puts workers of organizations in line, one behind the other, and returns the
// channel that tells who got a place. A worker gives its place back once its name has been
// received.
func inLine(t *testing.T, s *Turns, orgs ...string) <-chan string {
	got := make(chan string)
	for _, org := range orgs {
		before := s.waiting()
		go func() {
			turn, err := Begin(s.With(t.Context(), org))
			if err != nil || turn.Step(look) != nil {
				return
			}
			got <- org
			turn.End()
		}()
		for s.waiting() == before {
			runtime.Gosched()
		}
	}
	return got
}

func begin(t *testing.T, s *Turns, org string) *Turn {
	turn, err := Begin(s.With(t.Context(), org))
	require.NoError(t, err)
	require.NoError(t, turn.Step(look-1))
	require.False(t, turn.held, "what is light takes no place")
	require.NoError(t, turn.Step(1))
	require.True(t, turn.held)
	return turn
}

func TestOrganizationsTakeTurns(t *testing.T) {
	s := New(1, 1)
	first := begin(t, s, "a")
	got := inLine(t, s, "a", "a", "a", "b", "c", "b")
	first.End()
	first.End()
	var order string
	for range 6 {
		order += <-got
	}
	require.Equal(t, "abcaba", order)
	begin(t, s, "d").End()
}

func TestStepGivesWay(t *testing.T) {
	s := New(1, 1)
	long := begin(t, s, "a")
	require.NoError(t, long.Step(look))
	long.since = time.Now().Add(time.Hour) // however slow the machine is
	got := inLine(t, s, "b", "a")
	require.NoError(t, long.Step(look), "its slice is not over")
	require.Equal(t, 2, s.waiting())

	long.since = time.Time{}
	require.NoError(t, long.Step(look-1))
	require.Equal(t, 2, s.waiting(), "it is not worth a look at the clock")
	stepped := make(chan error)
	go func() { stepped <- long.Step(1) }()
	require.Equal(t, "b", <-got)
	require.Equal(t, "a", <-got)
	require.NoError(t, <-stepped)
	require.True(t, long.held)
	require.WithinDuration(t, time.Now(), long.since, time.Minute)

	long.since = time.Time{}
	require.NoError(t, long.Step(look), "nobody waits")
	require.True(t, long.held)
	long.End()
}

func TestContextsThatEnd(t *testing.T) {
	s := New(1, 1)
	ctx, cancel := context.WithCancel(t.Context())
	long, err := Begin(s.With(ctx, "a"))
	require.NoError(t, err)
	require.NoError(t, long.Step(look))

	waits, leave := context.WithCancel(t.Context())
	began := make(chan error)
	go func() {
		turn, err := Begin(s.With(waits, "b"))
		if err == nil {
			err = turn.Step(look)
		}
		began <- err
	}()
	for s.waiting() == 0 {
		runtime.Gosched()
	}
	leave()
	require.ErrorIs(t, <-began, context.Canceled)
	require.Zero(t, s.waiting())
	require.Empty(t, s.queue)

	cancel()
	require.NoError(t, long.Step(1), "it does not look each time")
	require.ErrorIs(t, long.Step(look), context.Canceled)
	require.ErrorIs(t, long.Step(1), context.Canceled, "from then on always")
	begin(t, s, "b").End() // the place is free
	_, err = Begin(s.With(ctx, "a"))
	require.ErrorIs(t, err, context.Canceled)
	begin(t, s, "b").End()
}

func TestTurnsOfNobody(t *testing.T) {
	turn, err := Begin(t.Context())
	require.NoError(t, err)
	turn.since = time.Time{}
	require.NoError(t, turn.Step(look))
	turn.End()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("because"))
	_, err = Begin(ctx)
	require.ErrorIs(t, err, context.Canceled)
	var none *Turn
	require.NoError(t, none.Step(look))
	none.End()
}
