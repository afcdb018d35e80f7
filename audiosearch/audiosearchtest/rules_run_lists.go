package audiosearchtest

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
)

// listRuns returns all runs that the query selects, on one page.
func (s *subject) listRuns(t *testing.T, org string, q audiosearch.RunQuery) []audiosearch.Run {
	t.Helper()
	q.Limit = mortise.MaxPageSize
	page, err := s.Runs.ListRuns(t.Context(), org, q)
	require.NoError(t, err, "ListRuns of %q by %+v", org, q)
	require.Empty(t, page.Next, "Next of the last page")
	return page.Items
}

// pagesOfRuns returns all runs that the query selects, page by page.
func (s *subject) pagesOfRuns(t *testing.T, org string, q audiosearch.RunQuery) []audiosearch.Run {
	t.Helper()
	var all []audiosearch.Run
	for {
		page, err := s.Runs.ListRuns(t.Context(), org, q)
		require.NoError(t, err, "ListRuns of %q by %+v", org, q)
		all = append(all, page.Items...)
		require.Less(t, len(all), manyRuns, "paging does not end")
		if q.After = page.Next; q.After == "" {
			return all
		}
	}
}

func runIDs(runs []audiosearch.Run) []int64 {
	ids := make([]int64, 0, len(runs))
	for _, r := range runs {
		ids = append(ids, r.ID)
	}
	return ids
}

// byRunPosition orders runs as a list does.
func byRunPosition(a, b audiosearch.Run) int { return b.Position().Compare(a.Position()) }

// runListRules say which runs ListRuns returns; listtest has the rules of their order.
var runListRules = []rule{
	{Rule{
		"runs/list-newest-first",
		"ListRuns returns the newest run first, by CreatedAt, whatever becomes of " +
			"them later.",
	}, needRuns,
		func(t *testing.T, s *subject) {
			want := make([]int64, 6)
			for _, i := range []int{2, 0, 5, 1, 4, 3} {
				r := s.createRun(t, plainRun(orgA, time.Duration(i)*time.Microsecond))
				want[5-i] = r.ID
				s.updateRun(t, r, func(r *audiosearch.Run) {
					r.UpdatedAt = moment(-time.Duration(i) * time.Hour)
					r.CreatedAt = r.UpdatedAt // which is ignored
				})
			}
			require.Equal(t, want, runIDs(s.listRuns(t, orgA, audiosearch.RunQuery{})))
		}},

	{Rule{
		"runs/list-of-organization",
		"ListRuns returns the runs of one organization, whose name is the same if " +
			"every byte is.",
	}, needRuns,
		func(t *testing.T, s *subject) {
			runs := make(map[string]int64)
			for _, org := range exactNames {
				runs[org] = s.createRun(t, plainRun(org, 0)).ID
			}
			for org, id := range runs {
				for _, q := range []audiosearch.RunQuery{{}, {Open: true}, {Dataset: setA}, {Actor: "alice"}} {
					require.Equal(t, []int64{id}, runIDs(s.listRuns(t, org, q)), "runs of %q", org)
				}
			}
			require.Empty(t, s.listRuns(t, "", audiosearch.RunQuery{}), "runs of an organization without a name")
		}},

	{Rule{
		"runs/list-whole",
		"ListRuns returns runs with every field, without their results. They are the " +
			"caller's to change.",
	}, needRuns,
		func(t *testing.T, s *subject) {
			want := []audiosearch.Run{s.createRun(t, endedRun(orgA, 0)), s.createRun(t, plainRun(orgA, -time.Hour*24))}
			got := s.listRuns(t, orgA, audiosearch.RunQuery{})
			require.Len(t, got, len(want))
			for i := range want {
				sameRun(t, want[i], got[i])
				spoilRun(&got[i])
				s.hasRun(t, want[i])
				sameRun(t, want[i], s.listRuns(t, orgA, audiosearch.RunQuery{})[i])
			}
		}},

	{Rule{
		"runs/list-by-dataset",
		"RunQuery.Dataset selects the runs over that dataset, byte for byte, as they " +
			"are now.",
	}, needRuns,
		func(t *testing.T, s *subject) {
			runs := make(map[string]audiosearch.Run)
			for _, dataset := range exactNames {
				r := plainRun(orgA, 0)
				r.Query.Dataset = dataset
				runs[dataset] = s.createRun(t, r)
			}
			for dataset, r := range runs {
				for _, q := range []audiosearch.RunQuery{{}, {Open: true}, {Actor: "alice"}} {
					q.Dataset = dataset
					require.Equal(t, []int64{r.ID}, runIDs(s.listRuns(t, orgA, q)), "runs over %q", dataset)
				}
			}
			moved := runs[exactNames[0]]
			s.updateRun(t, moved, func(r *audiosearch.Run) { r.Query.Dataset = setB })
			require.Empty(t, s.listRuns(t, orgA, audiosearch.RunQuery{Dataset: exactNames[0]}))
			require.Equal(t, []int64{moved.ID}, runIDs(s.listRuns(t, orgA, audiosearch.RunQuery{Dataset: setB})))
		}},

	{Rule{
		"runs/list-by-actor",
		"RunQuery.Actor selects the runs that this actor asked for, byte for byte, " +
			"as they are now.",
	}, needRuns,
		func(t *testing.T, s *subject) {
			runs := make(map[string]audiosearch.Run)
			for _, actor := range exactNames {
				r := plainRun(orgA, 0)
				r.Actor = mortise.Actor(actor)
				runs[actor] = s.createRun(t, r)
			}
			for actor, r := range runs {
				for _, q := range []audiosearch.RunQuery{{}, {Open: true}, {Dataset: setA}} {
					q.Actor = mortise.Actor(actor)
					require.Equal(t, []int64{r.ID}, runIDs(s.listRuns(t, orgA, q)), "runs of %q", actor)
				}
			}
			given := runs[exactNames[0]]
			s.updateRun(t, given, func(r *audiosearch.Run) { r.Actor = "bob" })
			require.Empty(t, s.listRuns(t, orgA, audiosearch.RunQuery{Actor: mortise.Actor(exactNames[0])}))
			require.Equal(t, []int64{given.ID}, runIDs(s.listRuns(t, orgA, audiosearch.RunQuery{Actor: "bob"})))
		}},

	{Rule{
		"runs/list-by-state",
		"RunQuery.State selects the runs in that state, and Open those that have not " +
			"ended, as they are now.",
	}, needRuns,
		func(t *testing.T, s *subject) {
			r := s.createRun(t, plainRun(orgA, 0))
			other := s.createRun(t, endedRun(orgA, -time.Hour))
			for _, state := range states {
				s.updateRun(t, r, func(r *audiosearch.Run) { r.State = state })
				for _, asked := range states {
					var want []int64
					if asked == state {
						want = append(want, r.ID)
					}
					if asked == other.State {
						want = append(want, other.ID)
					}
					got := runIDs(s.listRuns(t, orgA, audiosearch.RunQuery{State: asked}))
					require.ElementsMatch(t, want, got,
						"runs that are %s, besides a %s one", asked, state)
				}
				open := runIDs(s.listRuns(t, orgA, audiosearch.RunQuery{Open: true}))
				if state == audiosearch.StateTerminated {
					require.Empty(t, open)
				} else {
					require.Equal(t, []int64{r.ID}, open, "open runs, while one is %s", state)
				}
			}
		}},

	{Rule{
		"runs/list-from",
		"RunQuery.From selects what was created at or after it: an instant, in whatever location.",
	}, needRuns,
		func(t *testing.T, s *subject) {
			var ids []int64
			for i := range 5 {
				ids = append([]int64{s.createRun(t, plainRun(orgA, time.Duration(i)*time.Microsecond)).ID}, ids...)
			}
			east, west := time.FixedZone("east", 9*3600), time.FixedZone("west", -7*3600)
			for _, zone := range []*time.Location{time.UTC, east, west} {
				for i := range 6 {
					at := moment(time.Duration(i) * time.Microsecond).In(zone)
					require.Equal(t, ids[:5-i], runIDs(s.listRuns(t, orgA, audiosearch.RunQuery{From: at})),
						"from microsecond %d on, in time zone %s", i, zone)
				}
			}
		}},

	{Rule{
		"runs/list-matches",
		"ListRuns returns exactly the runs that RunQuery.Matches selects, whatever " +
			"is combined.",
	}, needRuns,
		func(t *testing.T, s *subject) {
			random := rand.New(rand.NewPCG(7, 11))
			var runs []audiosearch.Run
			for range 100 {
				r := plainRun(orgA, time.Duration(random.IntN(60))*time.Microsecond)
				r.Organization = []string{orgA, orgB}[random.IntN(2)]
				r.Actor = []mortise.Actor{"alice", "bob", "eve"}[random.IntN(3)]
				r.Query.Dataset = []string{setA, setB}[random.IntN(2)]
				r.State = states[random.IntN(len(states))]
				runs = append(runs, s.createRun(t, r))
			}
			slices.SortFunc(runs, byRunPosition)
			for range 100 {
				org, q := randomRunQuery(random, runs)
				var want []audiosearch.Run
				for i := range runs {
					if runs[i].Organization == org && q.Matches(&runs[i]) {
						want = append(want, runs[i])
					}
				}
				require.Equal(t, runIDs(want), runIDs(s.pagesOfRuns(t, org, q)), "runs of %s by %+v", org, q)
			}
		}},
}

// states are those of runs.
var states = []audiosearch.State{
	audiosearch.StatePending, audiosearch.StateQueued, audiosearch.StateRunning,
	audiosearch.StateTerminating, audiosearch.StateTerminated,
}

// randomRunQuery returns a query that has each of its fields set now and then.
func randomRunQuery(random *rand.Rand, runs []audiosearch.Run) (string, audiosearch.RunQuery) {
	some := func() *audiosearch.Run { return &runs[random.IntN(len(runs))] }
	sometimes := func(f func()) {
		if random.IntN(3) == 0 {
			f()
		}
	}
	q := audiosearch.RunQuery{Limit: 1 + random.IntN(20)}
	sometimes(func() { q.Dataset = some().Query.Dataset })
	sometimes(func() { q.Actor = some().Actor })
	sometimes(func() { q.State = some().State })
	sometimes(func() { q.Open = true })
	sometimes(func() { q.From = some().CreatedAt })
	return some().Organization, q
}
