// Package countertest proves Stats and StatsAll of things that wait, run and end: the
// events of package trigger, the runs of package audiosearch. A suite says in [Counter]
// where its things are counted, and has the rules of every counter. What one of them
// counts besides stays in its suite.
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

// State is a state of a thing, with the places where Stats and StatsAll count it.
type State[E any] struct {
	Set   func(*E) // puts a thing into it
	Waits bool
	Stats int
	All   int // -1: StatsAll counts no such thing
}

// Counts is what Stats or StatsAll says.
type Counts struct {
	Numbers []mortise.Count // in an order of the suite's own
	First   time.Time       // OldestWaiting or NextDue
}

// Counter is what counts things E.
type Counter[E any] struct {
	States []State[E] // the first one waits, another one is not waiting and counted by All
	Names  []string   // of organizations, which a backend might take for each other

	New    func(org string, at time.Duration) E // waits since it was made, and is due then
	Due    func(*E, time.Time)                  // sets when it is due
	Add    func(t *testing.T, e E) E            // stores it
	Update func(t *testing.T, e E, change func(*E))

	Stats    func(ctx context.Context, org string, most int) (Counts, error)
	StatsAll func(ctx context.Context, most int) (Counts, error)
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

// has requires that Stats returns these numbers, where it counts up to most, and first.
func (c *Counter[E]) has(t *testing.T, org string, most int, numbers map[int]int, first time.Time) {
	t.Helper()
	got, err := c.Stats(t.Context(), org, most)
	require.NoError(t, err, "Stats of %q up to %d", org, most)
	same(t, got, "OldestWaiting", most, numbers, first)
}

// hasAll is has for StatsAll.
func (c *Counter[E]) hasAll(t *testing.T, most int, numbers map[int]int, first time.Time) {
	t.Helper()
	got, err := c.StatsAll(t.Context(), most)
	require.NoError(t, err, "StatsAll up to %d", most)
	same(t, got, "NextDue", most, numbers, first)
}

func same(t *testing.T, got Counts, field string, most int, numbers map[int]int, first time.Time) {
	t.Helper()
	conformance.SameTime(t, field, first, &got.First)
	want := make([]mortise.Count, len(got.Numbers))
	for place, n := range numbers {
		if place >= 0 {
			want[place] = mortise.CountUpTo(n, most)
		}
	}
	require.Equal(t, want, got.Numbers, "numbers up to %d", most)
}

// waiting returns the states that wait, others those that do not.
func (c *Counter[E]) waiting() []State[E] { return c.those(true) }
func (c *Counter[E]) others() []State[E]  { return c.those(false) }

func (c *Counter[E]) those(wait bool) []State[E] {
	return slices.DeleteFunc(slices.Clone(c.States), func(s State[E]) bool { return s.Waits != wait })
}

// open returns the states that StatsAll counts.
func (c *Counter[E]) open() []State[E] {
	return slices.DeleteFunc(slices.Clone(c.States), func(s State[E]) bool { return s.All < 0 })
}

// running returns a state that is open and does not wait.
func (c *Counter[E]) running() *State[E] {
	open := c.open()
	return &open[slices.IndexFunc(open, func(s State[E]) bool { return !s.Waits })]
}
