package audiosearchtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/conformance/steptest"
)

// boundedSteps are the bounded steps of a Store.
var boundedSteps = []steptest.Step[*subject]{
	{ID: "prune-runs", Method: "PruneRuns", Units: "finished runs of all organizations", Needs: needRuns | needRunPruner,
		Fill: func(t *testing.T, s *subject, units int) steptest.Work {
			var old []audiosearch.Run
			for i := range units {
				old = append(old, s.createRun(t, toldRun([]string{orgA, orgB}[i%2], -time.Duration(i)*time.Hour)))
			}
			kept := []audiosearch.Run{s.createRun(t, toldRun(orgA, time.Hour)), s.createRun(t, plainRun(orgB, 0))}
			return s.runWork(s.pruning(time.Minute), old, kept)
		}},

	{ID: "trim-runs", Method: "TrimRuns", Units: "ended runs of organizations that have too many", Needs: needRuns | needRunPruner,
		Fill: func(t *testing.T, s *subject, units int) steptest.Work {
			const keep = 2
			var old, kept []audiosearch.Run
			for i := range units + 2*keep {
				r := s.createRun(t, toldRun([]string{orgA, orgB}[i%2], time.Duration(i)*time.Hour))
				if i < units {
					old = append(old, r)
				} else {
					kept = append(kept, r)
				}
			}
			return s.runWork(s.trimming(keep), old, append(kept, s.createRun(t, plainRun(orgB, 0))))
		}},

	{ID: "compact", Method: "Compact", Units: "what there is to tidy up", Needs: needParts | needScores | needCompactor,
		Fill: func(t *testing.T, s *subject, units int) steptest.Work {
			v, sc := video("v", nil), scoring(modelX, 9, "7")
			var left []string
			for i := range units {
				left = append(left, fmt.Sprint("set-", i))
				s.makeDataset(t, orgA, left[i])
				s.put(t, orgA, left[i], v)
				_, err := s.Parts.PutPart(t.Context(), orgA, left[i], partOf(v, sc, 0), noise(1, 3, 1))
				require.NoError(t, err)
			}
			s.makeDataset(t, orgB, setA)
			s.put(t, orgB, setA, v)
			late := partOf(v, sc, 0)
			late.At = moment(time.Hour)
			_, err := s.Parts.PutPart(t.Context(), orgB, setA, late, noise(1, 3, 1))
			require.NoError(t, err)
			return steptest.Work{
				Do: s.compacting(audiosearch.CompactOptions{PartsBefore: moment(time.Minute)}),
				Left: func(t *testing.T) (n int) {
					for _, set := range left {
						stored, err := s.Parts.Parts(t.Context(), orgA, set, partOf(v, sc, 0))
						require.NoError(t, err)
						n += min(stored, 1)
					}
					return n
				},
				Kept: func(t *testing.T) { s.inPartsOf(t, orgB, setA, 3, late) },
			}
		}},

	// No method shows the rows that are left of a deleted owner.
	{ID: "remove-deleted", Method: "RemoveDeleted", Units: "rows of an organization that is marked", Needs: needDeletion | needScores | needRuns,
		Fill: func(t *testing.T, s *subject, units int) steptest.Work {
			gone, stays := s.furnish(t, orgA), s.furnish(t, orgB)
			for i := range units {
				s.makeDataset(t, orgA, fmt.Sprint("set ", i))
			}
			s.mark(t, orgA, 0)
			return steptest.Work{
				Do: s.removing,
				Kept: func(t *testing.T) {
					s.isGone(t, gone)
					s.isWhole(t, stays)
				},
			}
		}},
}

// runWork is the removal of runs.
func (s *subject) runWork(do steptest.Do, old, kept []audiosearch.Run) steptest.Work {
	return steptest.Work{
		Do: do, Exact: true,
		Left: func(t *testing.T) (n int) {
			for _, r := range old {
				if _, err := s.Runs.Run(t.Context(), r.Organization, r.ID); err == nil {
					n++
				} else {
					require.ErrorIs(t, err, audiosearch.ErrRunNotFound)
				}
			}
			return n
		},
		Kept: func(t *testing.T) {
			for _, r := range kept {
				s.hasRun(t, r)
				sameResults(t, r.Results, s.results(t, r))
			}
		},
	}
}

func stepRules() (rules []rule) {
	for _, r := range steptest.Rules(boundedSteps) {
		rules = append(rules, rule{Rule{r.ID, r.Text}, r.Needs, r.Check})
	}
	return rules
}
