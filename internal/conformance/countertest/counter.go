// Package countertest proves Counts and Backlog of things that wait, run and end: the
// events of package trigger, the runs of package audiosearch. A suite says in [Counter]
// where its things are counted, and has the rules of every counter.
package countertest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

const orgA, orgB = "org-a", "org-b"

// State is a state of a thing, with the places where it is counted.
type State[E any] struct {
	Set     func(*E) // puts a thing into it
	Waits   bool
	Counts  int // in the numbers of Counts
	Backlog int // 0: Waiting, 1: Running, 2: Failed, -1: Backlog counts no such thing
}

// Counter is what counts things E.
type Counter[E any] struct {
	States []State[E] // the first one waits, another one is not waiting and counted by Backlog
	Names  []string   // of organizations, which a backend might take for each other

	New    func(org string, at time.Duration) E // waits, and is due then
	Due    func(*E, time.Time)                  // sets when it is due
	Add    func(t *testing.T, e E) E            // stores it
	Update func(t *testing.T, e E, change func(*E))

	Counts  func(ctx context.Context, org string, most int) ([]mortise.Count, error)
	Backlog func(ctx context.Context, most int) (mortise.Backlog, error)
}

// HasBacklog requires that backlog returns want, where it counts up to most.
func HasBacklog(
	t *testing.T, backlog func(context.Context, int) (mortise.Backlog, error), most int, want mortise.Backlog,
) {
	t.Helper()
	got, err := backlog(t.Context(), most)
	require.NoError(t, err, "Backlog up to %d", most)
	conformance.SameTime(t, "NextDue", want.NextDue, &got.NextDue)
	require.Equal(t, want, got, "Backlog up to %d", most)
}

// add stores a new thing that is in a state.
func (c *Counter[E]) add(t *testing.T, s *State[E], org string, at time.Duration) E {
	t.Helper()
	e := c.New(org, at)
	s.Set(&e)
	return c.Add(t, e)
}

// put puts a thing into a state.
func (c *Counter[E]) put(t *testing.T, e E, s *State[E]) {
	t.Helper()
	c.Update(t, e, s.Set)
}

// has requires that Counts returns these numbers, by their place, where it counts up to
// most.
func (c *Counter[E]) has(t *testing.T, org string, most int, numbers map[int]int) {
	t.Helper()
	got, err := c.Counts(t.Context(), org, most)
	require.NoError(t, err, "Counts of %q up to %d", org, most)
	want := make([]mortise.Count, len(got))
	for place, n := range numbers {
		want[place] = mortise.CountUpTo(n, most)
	}
	require.Equal(t, want, got, "Counts of %q up to %d", org, most)
}

// hasBacklog is has for Backlog, with its NextDue.
func (c *Counter[E]) hasBacklog(t *testing.T, most int, numbers map[int]int, due time.Time) {
	t.Helper()
	HasBacklog(t, c.Backlog, most, mortise.Backlog{
		Waiting: mortise.CountUpTo(numbers[0], most),
		Running: mortise.CountUpTo(numbers[1], most),
		Failed:  mortise.CountUpTo(numbers[2], most), NextDue: due,
	})
}

// waiting returns the states that wait.
func (c *Counter[E]) waiting() []State[E] {
	return slices.DeleteFunc(slices.Clone(c.States), func(s State[E]) bool { return !s.Waits })
}

// running returns a state that Backlog counts and that does not wait.
func (c *Counter[E]) running() *State[E] {
	return &c.States[slices.IndexFunc(c.States, func(s State[E]) bool { return !s.Waits && s.Backlog >= 0 })]
}
