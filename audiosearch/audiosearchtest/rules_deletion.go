package audiosearchtest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/steptest"
)

// neighbours are organizations whose IDs are almost that of orgA.
var neighbours = []string{orgB, "org-", "org-a2", "ORG-A"}

// mark marks an organization as deleted, and returns since when it is.
func (s *subject) mark(t *testing.T, org string, at time.Duration) time.Time {
	t.Helper()
	since, err := s.Deletion.MarkDeleted(t.Context(), org, moment(at))
	require.NoError(t, err, "MarkDeleted of %q", org)
	require.Equal(t, time.UTC, since.Location(), "MarkDeleted returns a time that is not in UTC")
	return since
}

// removeStep removes at most limit rows of what orgA has.
func (s *subject) removeStep(t *testing.T, limit int) (more bool) {
	t.Helper()
	_, more, err := s.removing(t.Context(), limit)
	require.NoError(t, err, "RemoveDeleted")
	return more
}

// removing is RemoveDeleted of orgA.
func (s *subject) removing(ctx context.Context, limit int) (n int, more bool, err error) {
	return s.Deletion.RemoveDeleted(ctx, orgA, limit)
}

// removeAll removes all rows of orgA.
func (s *subject) removeAll(t *testing.T, limit int) {
	t.Helper()
	steptest.All(t, limit, s.removing)
}

// deletionCalls calls the methods of Deletion for an organization that nobody else uses.
func (s *subject) deletionCalls() []call {
	return []call{
		{"MarkDeleted", func(ctx context.Context, _, _ string) error {
			_, err := s.Deletion.MarkDeleted(ctx, "nobody", moment(0))
			return err
		}},
		{"RemoveDeleted", func(ctx context.Context, _, _ string) error {
			_, _, err := s.Deletion.RemoveDeleted(ctx, "nobody", 10)
			return err
		}},
	}
}

// hides makes the calls for setA, where they work for each organization, marks orgA, and
// requires that each call is an error for that: before anything is removed, and after.
func (s *subject) hides(t *testing.T, calls []call, want error) {
	t.Helper()
	allWork(t, calls)
	s.mark(t, orgA, 0)
	for range 2 {
		for _, c := range calls {
			require.ErrorIs(t, c.do(t.Context(), orgA, setA), want, c.name)
		}
		s.removeAll(t, 1)
	}
	for _, c := range calls {
		require.NoError(t, c.do(t.Context(), orgB, setA), "%s of another organization", c.name)
	}
}

// furnished makes setA with the video v, which is scored, in orgA and orgB.
func (s *subject) furnished(t *testing.T) {
	t.Helper()
	for _, org := range []string{orgA, orgB} {
		s.makeDataset(t, org, setA)
		v := s.put(t, org, setA, video("v", metadata.Map{"key": metadata.Int(1)}))
		if s.Scores != nil {
			s.score(t, org, setA, v, modelX, "7", 10, 20)
		}
	}
}

// but leaves out calls by their names.
func but(calls []call, names ...string) (left []call) {
	for _, c := range calls {
		keep := true
		for _, name := range names {
			keep = keep && c.name != name
		}
		if keep {
			left = append(left, c)
		}
	}
	return left
}

// deletionRules say how an organization reads that is marked as deleted.
var deletionRules = []rule{
	{Rule{"deletion/since",
		"MarkDeleted returns the time of the mark. The first one stays. The organization need not " +
			"have anything."}, needDeletion,
		func(t *testing.T, s *subject) {
			require.Equal(t, moment(time.Microsecond), s.mark(t, orgA, time.Microsecond))
			require.Equal(t, moment(time.Microsecond), s.mark(t, orgA, time.Hour), "the second time")
			require.Equal(t, moment(-time.Hour), s.mark(t, orgB, -time.Hour), "another organization")
			require.False(t, s.removeStep(t, 10), "there is nothing")
			require.Equal(t, moment(time.Microsecond), s.mark(t, orgA, -time.Hour), "after all was removed")
		}},

	{Rule{"deletion/since-concurrent",
		"Of calls of MarkDeleted at once one marks, and all return its time."}, needDeletion,
		func(t *testing.T, s *subject) {
			const workers = 6
			var since [workers]time.Time
			var errs [workers]error
			conformance.Together(workers, func(i int) {
				since[i], errs[i] = s.Deletion.MarkDeleted(t.Context(), orgA, moment(time.Duration(i)*time.Second))
			})
			conformance.NoErrors(t, errs[:])
			for i := range since {
				require.True(t, since[i].Equal(since[0]), "one call returned %v, another one %v", since[0], since[i])
			}
			require.True(t, s.mark(t, orgA, time.Hour).Equal(since[0]))
		}},

	{Rule{"deletion/hides-datasets",
		"A deleted organization has no datasets: they are ErrDatasetNotFound, and their list is " +
			"empty."}, needDeletion,
		func(t *testing.T, s *subject) {
			for _, org := range []string{orgA, orgB} {
				s.makeDataset(t, org, setA)
				s.makeDataset(t, org, setB)
			}
			s.mark(t, orgA, 0)
			for range 2 {
				for _, c := range but(s.datasetCalls(), "CreateDataset", "ListDatasets") {
					require.ErrorIs(t, c.do(t.Context(), orgA, setA), audiosearch.ErrDatasetNotFound, c.name)
				}
				require.Empty(t, s.datasets(t, orgA))
				s.removeAll(t, 1)
			}
			require.Equal(t, []string{setA, setB}, s.datasets(t, orgB))
		}},

	{Rule{"deletion/refuses-datasets",
		"CreateDataset in a deleted organization is ErrDeleted, whether it had such a dataset or " +
			"not, and for ever."}, needDeletion,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			s.mark(t, orgA, 0)
			for range 2 {
				for _, id := range []string{setA, setB} {
					err := s.Datasets.CreateDataset(t.Context(), audiosearch.Dataset{Organization: orgA, ID: id, CreatedAt: moment(0)})
					require.ErrorIs(t, err, mortise.ErrDeleted, id)
				}
				require.Empty(t, s.datasets(t, orgA))
				s.removeAll(t, 1)
			}
		}},

	{Rule{"deletion/creation-concurrent",
		"A dataset that is made while the organization is marked is there before the mark, and " +
			"hidden, or is ErrDeleted."}, needDeletion,
		func(t *testing.T, s *subject) {
			const workers = 6
			var errs [workers]error
			conformance.Together(workers, func(i int) {
				if i == 0 {
					_, errs[0] = s.Deletion.MarkDeleted(t.Context(), orgA, moment(0))
					return
				}
				d := audiosearch.Dataset{Organization: orgA, ID: string(rune('a' + i)), CreatedAt: moment(0)}
				errs[i] = s.Datasets.CreateDataset(t.Context(), d)
			})
			for _, err := range errs {
				if err != nil {
					require.ErrorIs(t, err, mortise.ErrDeleted)
				}
			}
			require.Empty(t, s.datasets(t, orgA))
			s.removeAll(t, 1)
			require.Empty(t, s.datasets(t, orgA))
		}},

	{Rule{"deletion/hides-catalog",
		"The videos of a deleted organization are ErrDatasetNotFound, and none can be put."}, needDeletion | needCatalog,
		func(t *testing.T, s *subject) {
			s.furnished(t)
			s.hides(t, but(s.catalogCalls(), "DeleteVideo"), audiosearch.ErrDatasetNotFound)
			require.ErrorIs(t, s.Catalog.DeleteVideo(t.Context(), orgA, setA, "v"), audiosearch.ErrDatasetNotFound)
		}},

	{Rule{"deletion/hides-scores",
		"The scores of a deleted organization are ErrDatasetNotFound, and none can be stored."}, needDeletion | needScores,
		func(t *testing.T, s *subject) {
			s.furnished(t)
			s.hides(t, s.scoreCalls(), audiosearch.ErrDatasetNotFound)
		}},

	{Rule{"deletion/hides-parts",
		"The parts of a deleted organization are ErrDatasetNotFound, and none can be stored."}, needDeletion | needParts,
		func(t *testing.T, s *subject) {
			s.furnished(t)
			s.hides(t, s.partCalls(), audiosearch.ErrDatasetNotFound)
		}},

	{Rule{"deletion/hides-models",
		"The models of a deleted organization are ErrDatasetNotFound, and none can be set."}, needDeletion | needModels,
		func(t *testing.T, s *subject) {
			s.furnished(t)
			s.hides(t, s.modelCalls(), audiosearch.ErrDatasetNotFound)
		}},

	{Rule{"deletion/ended-context", endedText}, needDeletion,
		func(t *testing.T, s *subject) {
			allFail(conformance.Ended(t), t, s.deletionCalls())
			allWork(t, s.deletionCalls())
		}},

	{Rule{"deletion/failure", brokenText}, needDeletion | needBreak,
		func(t *testing.T, s *subject) {
			allWork(t, s.deletionCalls())
			heal := s.breakIt(t)
			allFail(t.Context(), t, s.deletionCalls())
			heal()
			allWork(t, s.deletionCalls())
		}},
}
