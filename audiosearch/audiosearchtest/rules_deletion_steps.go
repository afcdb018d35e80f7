package audiosearchtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// whole is all that an organization can have.
type whole struct {
	org   string
	video audiosearch.Video
	runs  []audiosearch.Run
}

// furnish gives an organization something of each kind, under the same IDs as others.
func (s *subject) furnish(t *testing.T, org string) whole {
	t.Helper()
	w := whole{org: org, video: video("v", metadata.Map{"key": metadata.String(org)})}
	s.makeDataset(t, org, setA)
	s.put(t, org, setA, w.video, video("w", nil))
	s.score(t, org, setA, w.video, modelX, "7", 10, 20)
	if s.Parts != nil {
		p := partOf(video("w", nil), scoring(modelX, 4, "7"), 0)
		_, err := s.Parts.PutPart(t.Context(), org, setA, p, [][]uint16{{1, 2}})
		require.NoError(t, err)
	}
	if s.Models != nil {
		require.NoError(t, s.Models.SetModel(t.Context(), org, setA, change("", modelX, 0)))
	}
	w.runs = []audiosearch.Run{s.createRun(t, plainRun(org, 0)), s.createRun(t, toldRun(org, 0)), s.createRun(t, endedRun(org, time.Hour))}
	return w
}

// isWhole requires that all of it is there.
func (s *subject) isWhole(t *testing.T, w whole) {
	t.Helper()
	require.Equal(t, []string{setA}, s.datasets(t, w.org), w.org)
	require.Equal(t, []string{"v", "w"}, videoIDs(s.list(t, w.org, setA)), w.org)
	s.hasVideo(t, w.org, setA, w.video)
	s.hasScoring(t, w.org, setA, "v", scoring(modelX, 2, "7"))
	q := audiosearch.ScoreQuery{Class: "7", Filters: []metadata.Filter{{Key: "key", Value: w.org}}}
	require.Equal(t, []string{"v 1 20", "v 0 10"}, hits(s.search(t, w.org, setA, q)), w.org)
	if s.Parts != nil {
		s.inPartsOf(t, w.org, setA, 2, partOf(video("w", nil), scoring(modelX, 4, "7"), 0))
	}
	if s.Models != nil {
		m, _ := s.model(t, w.org, setA, modelX)
		require.True(t, m.Current, w.org)
	}
	for _, r := range w.runs {
		s.hasRun(t, r)
		sameResults(t, r.Results, s.results(t, r))
	}
}

// isGone requires that orgA has nothing.
func (s *subject) isGone(t *testing.T, w whole) {
	t.Helper()
	require.Empty(t, s.datasets(t, orgA))
	_, err := s.Scores.Search(t.Context(), orgA, setA, audiosearch.ScoreQuery{Model: modelX, Class: "7", Limit: 1})
	require.ErrorIs(t, err, audiosearch.ErrDatasetNotFound)
	_, err = s.Catalog.ListVideos(t.Context(), orgA, setA, "", 10)
	require.ErrorIs(t, err, audiosearch.ErrDatasetNotFound)
	for _, r := range w.runs {
		s.isUnknown(t, orgA, r.ID)
	}
	err = s.Datasets.CreateDataset(t.Context(), audiosearch.Dataset{Organization: orgA, ID: setB, CreatedAt: moment(0)})
	require.ErrorIs(t, err, mortise.ErrDeleted)
}

// removalRules say how what a deleted organization has is removed.
var removalRules = []rule{
	{Rule{"deletion/unmarked",
		"RemoveDeleted of an organization that is not marked returns ErrNotFound, and removes " +
			"nothing."}, needDeletion,
		func(t *testing.T, s *subject) {
			d := s.makeDataset(t, orgA, setA)
			s.mark(t, orgB, 0)
			_, _, err := s.Deletion.RemoveDeleted(t.Context(), orgA, 10)
			require.ErrorIs(t, err, mortise.ErrNotFound)
			s.hasDataset(t, d)
		}},

	{Rule{"deletion/others",
		"The deletion of an organization leaves all others as they are, whose IDs are almost the " +
			"same, with all that has the same IDs."}, needDeletion | needScores | needRuns,
		func(t *testing.T, s *subject) {
			gone := s.furnish(t, orgA)
			var others []whole
			for _, org := range neighbours {
				others = append(others, s.furnish(t, org))
			}
			s.mark(t, orgA, 0)
			for _, w := range others {
				s.isWhole(t, w)
			}
			for more := true; more; {
				more = s.removeStep(t, 1)
				for _, w := range others {
					s.isWhole(t, w)
				}
			}
			s.isGone(t, gone)
		}},

	{Rule{"deletion/resumed",
		"RemoveDeleted may be cut off anywhere and called again, beside Compact and the pruning " +
			"of runs. The organization stays hidden."},
		needDeletion | needScores | needRuns,
		func(t *testing.T, s *subject) {
			gone := s.furnish(t, orgA)
			s.mark(t, orgA, 0)
			for more := true; more; {
				_, _, err := s.Deletion.RemoveDeleted(conformance.Ended(t), orgA, 1)
				isFailure(t, "RemoveDeleted", err)
				s.isGone(t, gone)
				if c, ok := s.Scores.(audiosearch.Pruner); ok {
					_, _, err := c.Compact(t.Context(), audiosearch.CompactOptions{PartsBefore: moment(time.Hour), ReplacedBefore: moment(time.Hour)}, 1000)
					require.NoError(t, err)
				}
				if p, ok := s.Runs.(audiosearch.Pruner); ok {
					_, _, err := p.PruneRuns(t.Context(), moment(time.Minute), 1)
					require.NoError(t, err)
				}
				more = s.removeStep(t, 2)
				s.isGone(t, gone)
			}
		}},

	{Rule{"deletion/durable",
		"The mark outlives the process, and so does what was not removed yet."}, needDeletion | needScores | needRuns | needReopen,
		func(t *testing.T, s *subject) {
			gone, stays := s.furnish(t, orgA), s.furnish(t, orgB)
			since := s.mark(t, orgA, 0)
			for more := true; more; {
				s.reopen(t)
				s.isGone(t, gone)
				s.isWhole(t, stays)
				more = s.removeStep(t, 5)
			}
			s.reopen(t)
			require.Equal(t, since, s.mark(t, orgA, time.Hour))
			s.isGone(t, gone)
		}},
}
