package countertest

import (
	"fmt"
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

// Words are what the texts of rules say of things.
type Words struct {
	Things string // "events"
	Made   string // the field with the time since when they wait: "SubmittedAt"
	Open   string // which of them StatsAll counts
}

// Rules returns the rules of Stats, and of both. byState is the id of that about states.
func Rules[E any](byState string, w Words) []Rule[E] {
	return []Rule[E]{
		{"counter/of-organization", "Stats counts what one organization has, whose name is the same if every byte is.", func(t *testing.T, c *Counter[E]) {
			for i, org := range c.Names {
				for range i % 3 {
					for _, state := range c.States {
						c.add(t, &state, org, time.Duration(i)*time.Second)
					}
				}
			}
			for i, org := range c.Names {
				want, first := make(map[int]int), time.Time{}
				for _, state := range c.States {
					want[state.Stats] += i % 3
				}
				if i%3 > 0 {
					first = conformance.Moment(time.Duration(i) * time.Second)
				}
				c.has(t, org, 100, want, first)
			}
		}},

		{byState, "Stats counts " + w.Things + " by their state, as they are now.", func(t *testing.T, c *Counter[E]) {
			e, other := c.Add(t, c.New(orgA, 0)), c.States[len(c.States)-1]
			c.add(t, &other, orgA, 0)
			for _, from := range c.States {
				for _, state := range slices.Concat(c.States, []State[E]{from}) {
					c.put(t, e, &state)
					want, first := map[int]int{other.Stats: 1}, time.Time{}
					want[state.Stats]++
					if state.Waits {
						first = conformance.Moment(0)
					}
					c.has(t, orgA, 100, want, first)
				}
			}
		}},

		{"counter/oldest-waiting", "OldestWaiting is the earliest " + w.Made + " of the " + w.Things + " that wait, and zero if none does.", func(t *testing.T, c *Counter[E]) {
			oldest := func(want time.Time) {
				t.Helper()
				got, err := c.Stats(t.Context(), orgA, 100)
				require.NoError(t, err)
				conformance.SameTime(t, "OldestWaiting", want, &got.First)
			}
			for i, state := range c.others() {
				c.add(t, &state, orgA, -time.Duration(i+1)*time.Hour)
			}
			oldest(time.Time{})
			c.Add(t, c.New(orgB, -time.Hour))
			things, waiting := make([]E, 4), c.waiting()
			for _, i := range []int{2, 0, 3, 1} {
				e := c.New(orgA, time.Duration(i)*time.Microsecond)
				c.Due(&e, conformance.Moment(-time.Duration(i)*time.Hour))
				waiting[i%len(waiting)].Set(&e)
				things[i] = c.Add(t, e)
			}
			for i, e := range things {
				oldest(conformance.Moment(time.Duration(i) * time.Microsecond))
				c.put(t, e, c.running())
			}
			oldest(time.Time{})
			c.put(t, things[2], &waiting[len(waiting)-1])
			oldest(conformance.Moment(2 * time.Microsecond))
		}},

		{"counter/most", "Each number of Stats is exact up to most, and else it is most and More.", func(t *testing.T, c *Counter[E]) {
			want := make(map[int]int)
			for i, state := range c.States {
				for n := range 3 + i {
					c.add(t, &state, orgA, time.Duration(n)*time.Second)
					want[state.Stats]++
				}
			}
			for most := 1; most < 14; most++ {
				c.has(t, orgA, most, want, conformance.Moment(0))
			}
		}},

		{"counter/one-moment", "Stats and StatsAll count at one moment: what changes meanwhile is counted once.", func(t *testing.T, c *Counter[E]) {
			e, open := c.Add(t, c.New(orgA, 0)), c.open()
			waits := map[bool]map[int]bool{true: {}, false: {}} // the places of those that wait, in Stats and in StatsAll
			for _, state := range c.waiting() {
				waits[true][state.Stats], waits[false][state.All] = true, true
			}
			look := func(i int) error {
				var got Counts
				var err error
				if i%2 == 0 {
					got, err = c.Stats(t.Context(), orgA, 10)
				} else {
					got, err = c.StatsAll(t.Context(), 10)
				}
				if err != nil {
					return err
				}
				sum, waiting := 0, 0
				for place, n := range got.Numbers {
					sum += n.N
					if waits[i%2 == 0][place] {
						waiting += n.N
					}
				}
				if sum != 1 {
					return fmt.Errorf("it is counted %d times: %v", sum, got.Numbers)
				}
				if (waiting == 0) != got.First.IsZero() {
					return fmt.Errorf("%d wait, the first one since %s", waiting, got.First)
				}
				return nil
			}
			conformance.Watch(t, 4, look, 50, func(n int) { c.put(t, e, &open[(n+1)%len(open)]) })
		}},
	}
}

// RulesOfAll returns those of StatsAll.
func RulesOfAll[E any](w Words) []Rule[E] {
	return []Rule[E]{
		{"counter/all", "StatsAll counts the " + w.Things + " of all organizations " + w.Open + ", as they are now.", func(t *testing.T, c *Counter[E]) {
			c.hasAll(t, 100, nil, time.Time{})
			want, largest := make(map[int]int), 0
			var things []E
			for i, org := range []string{orgA, orgB, "", "org-c"} {
				for n, state := range c.States {
					for range i + n {
						things = append(things, c.add(t, &state, org, time.Hour))
						if want[state.All]++; state.All >= 0 {
							largest = max(largest, want[state.All])
						}
					}
				}
			}
			c.hasAll(t, 100, want, conformance.Moment(time.Hour))
			c.hasAll(t, largest, want, conformance.Moment(time.Hour))
			for _, e := range things {
				c.put(t, e, c.running())
			}
			c.hasAll(t, 1000, map[int]int{c.running().All: len(things)}, time.Time{})
		}},

		{"counter/all-next-due", "NextDue is the earliest DueAt of the " + w.Things + " that wait, but for zero ones; zero if there is none.", func(t *testing.T, c *Counter[E]) {
			next := func(want time.Duration) {
				t.Helper()
				got, err := c.StatsAll(t.Context(), 100)
				require.NoError(t, err)
				conformance.SameTime(t, "NextDue", conformance.Moment(want), &got.First)
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
			got, err := c.StatsAll(t.Context(), 100)
			require.NoError(t, err)
			require.Zero(t, got.First, "NextDue")
			var last E
			waiting := c.waiting()
			for i, d := range []time.Duration{1000 * 365 * 24 * time.Minute, time.Hour, time.Microsecond, 0} {
				last = c.New([]string{orgA, orgB, ""}[i%3], -time.Duration(i)*time.Hour)
				waiting[i%len(waiting)].Set(&last)
				c.Due(&last, conformance.Moment(d))
				last = c.Add(t, last)
				next(d)
			}
			c.put(t, last, c.running())
			next(time.Microsecond)
			c.Update(t, last, func(e *E) {
				waiting[len(waiting)-1].Set(e)
				c.Due(e, conformance.Moment(time.Minute))
			})
			next(time.Microsecond)
			c.Update(t, last, func(e *E) { c.Due(e, conformance.Moment(-time.Minute)) })
			next(-time.Minute)
		}},

		{"counter/all-most", "Each number of StatsAll is exact up to most, and else it is most and More.", func(t *testing.T, c *Counter[E]) {
			want := make(map[int]int)
			for i, state := range c.States {
				for n := range 3 + 2*i {
					c.add(t, &state, []string{orgA, orgB, "org1"}[n%3], time.Duration(n)*time.Second)
					want[state.All]++
				}
			}
			for most := 1; most < 20; most++ {
				c.hasAll(t, most, want, conformance.Moment(0))
			}
		}},
	}
}
