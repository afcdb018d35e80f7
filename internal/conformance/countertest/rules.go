package countertest

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// Rule is a sentence of the contract of every counter, and what tries it.
type Rule[E any] struct {
	ID, Text string
	Check    func(*testing.T, *Counter[E])
}

// Rules returns the rules of Counts and Backlog. things are "events", and open are the ones
// that Backlog counts: "waiting and running".
func Rules[E any](things, open string) []Rule[E] {
	return []Rule[E]{
		{"counter/of-organization", "Counts counts the " + things + " of one organization; names are the same if every byte is.", func(t *testing.T, c *Counter[E]) {
			for i, org := range c.Names {
				for range i % 3 {
					for _, state := range c.States {
						c.add(t, &state, org, 0)
					}
				}
			}
			for i, org := range c.Names {
				want := make(map[int]int)
				for _, state := range c.States {
					want[state.Counts] += i % 3
				}
				c.has(t, org, 100, want)
			}
		}},

		{"counter/states", "Counts counts " + things + " by their state, as they are now.", func(t *testing.T, c *Counter[E]) {
			e, other := c.Add(t, c.New(orgA, 0)), c.States[len(c.States)-1]
			c.add(t, &other, orgA, 0)
			for _, from := range c.States {
				for _, state := range slices.Concat(c.States, []State[E]{from}) {
					c.put(t, e, &state)
					want := map[int]int{other.Counts: 1}
					want[state.Counts]++
					c.has(t, orgA, 100, want)
				}
			}
		}},

		{"counter/most", "Each number of Counts is exact up to most, and else it is most and More.", func(t *testing.T, c *Counter[E]) {
			want := make(map[int]int)
			for i, state := range c.States {
				for n := range 3 + i {
					c.add(t, &state, orgA, time.Duration(n)*time.Second)
					want[state.Counts]++
				}
			}
			for most := 1; most < 14; most++ {
				c.has(t, orgA, most, want)
			}
		}},

		{"counter/backlog", "Backlog counts the " + open + " " + things + " of all organizations, as they are now.", func(t *testing.T, c *Counter[E]) {
			c.hasBacklog(t, 100, nil, time.Time{})
			want, largest := make(map[int]int), 0
			var added []E
			for i, org := range []string{orgA, orgB, "", "org-c"} {
				for n, state := range c.States {
					for range i + n {
						added = append(added, c.add(t, &state, org, time.Hour))
						if want[state.Backlog]++; state.Backlog >= 0 {
							largest = max(largest, want[state.Backlog])
						}
					}
				}
			}
			c.hasBacklog(t, 100, want, conformance.Moment(time.Hour))
			c.hasBacklog(t, largest, want, conformance.Moment(time.Hour))
			for _, e := range added {
				c.put(t, e, c.running())
			}
			c.hasBacklog(t, 1000, map[int]int{c.running().Backlog: len(added)}, time.Time{})
		}},

		{"counter/next-due", "NextDue is the earliest DueAt of the waiting " + things + ", but for zero ones; zero without one.", func(t *testing.T, c *Counter[E]) {
			next := func(want time.Time) {
				t.Helper()
				got, err := c.Backlog(t.Context(), 100)
				require.NoError(t, err)
				conformance.SameTime(t, "NextDue", want, &got.NextDue)
			}
			for i, state := range c.States {
				e := c.New(orgA, 0)
				state.Set(&e)
				due := conformance.Moment(-time.Duration(i+1) * time.Hour)
				if state.Waits {
					due = time.Time{}
				}
				c.Due(&e, due)
				c.Add(t, e)
			}
			next(time.Time{})
			var last E
			waiting := c.waiting()
			for i, d := range []time.Duration{1000 * 365 * 24 * time.Minute, time.Hour, time.Microsecond, 0} {
				last = c.New([]string{orgA, orgB, ""}[i%3], -time.Duration(i)*time.Hour)
				waiting[i%len(waiting)].Set(&last)
				c.Due(&last, conformance.Moment(d))
				last = c.Add(t, last)
				next(conformance.Moment(d))
			}
			c.put(t, last, c.running())
			next(conformance.Moment(time.Microsecond))
			c.Update(t, last, func(e *E) {
				waiting[len(waiting)-1].Set(e)
				c.Due(e, conformance.Moment(time.Minute))
			})
			next(conformance.Moment(time.Microsecond))
			c.Update(t, last, func(e *E) { c.Due(e, conformance.Moment(-time.Minute)) })
			next(conformance.Moment(-time.Minute))
		}},

		{"counter/backlog-most", "Each number of Backlog is exact up to most, and else it is most and More.", func(t *testing.T, c *Counter[E]) {
			want := make(map[int]int)
			for i, state := range c.States {
				for n := range 3 + 2*i {
					c.add(t, &state, []string{orgA, orgB, "org1"}[n%3], time.Duration(n)*time.Second)
					want[state.Backlog]++
				}
			}
			for most := 1; most < 20; most++ {
				c.hasBacklog(t, most, want, conformance.Moment(0))
			}
		}},
	}
}
