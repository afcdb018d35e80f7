package audiosearchtest

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// hasDataset requires that the dataset is there as it is.
func (s *subject) hasDataset(t *testing.T, want audiosearch.Dataset) {
	t.Helper()
	got, err := s.Datasets.Dataset(t.Context(), want.Organization, want.ID)
	require.NoError(t, err, "Dataset %q", want.ID)
	sameDataset(t, want, got)
}

// datasets returns the IDs of a page of datasets.
func (s *subject) datasets(t *testing.T, org, after string, limit int) []string {
	t.Helper()
	page, err := s.Datasets.ListDatasets(t.Context(), org, after, limit)
	require.NoError(t, err)
	ids := make([]string, 0, len(page))
	for _, d := range page {
		require.Equal(t, org, d.Organization)
		ids = append(ids, d.ID)
	}
	return ids
}

// datasetRules are the rules of CreateDataset, Dataset and ListDatasets.
var datasetRules = []rule{
	{Rule{"datasets/create-and-get", "CreateDataset stores a dataset, and Dataset returns it as it was. Times have microseconds, and are in UTC."}, needDatasets,
		func(t *testing.T, s *subject) {
			first := s.makeDataset(t, orgA, setA)
			second := audiosearch.Dataset{Organization: orgA, ID: setB, CreatedAt: moment(time.Microsecond)}
			require.NoError(t, s.Datasets.CreateDataset(t.Context(), second))
			s.hasDataset(t, first)
			s.hasDataset(t, second)
		}},

	{Rule{"datasets/create-exists", "If the organization has a dataset of this ID, CreateDataset leaves it as it is and returns ErrExists."}, needDatasets,
		func(t *testing.T, s *subject) {
			want := s.makeDataset(t, orgA, setA)
			again := want
			again.CreatedAt = moment(time.Hour)
			require.ErrorIs(t, s.Datasets.CreateDataset(t.Context(), again), mortise.ErrExists)
			s.hasDataset(t, want)
			require.Equal(t, []string{setA}, s.datasets(t, orgA, "", 10))
		}},

	{Rule{"datasets/create-concurrent", "CreateDataset is atomic: of many at once with one ID, one creates the dataset, and the others get ErrExists."}, needDatasets,
		func(t *testing.T, s *subject) {
			var errs [16]error
			conformance.Together(len(errs), func(i int) {
				errs[i] = s.Datasets.CreateDataset(t.Context(), audiosearch.Dataset{Organization: orgA, ID: setA, CreatedAt: moment(time.Duration(i) * time.Second)})
			})
			created := 0
			for i, err := range errs {
				if err == nil {
					created++
					s.hasDataset(t, audiosearch.Dataset{Organization: orgA, ID: setA, CreatedAt: moment(time.Duration(i) * time.Second)})
					continue
				}
				require.ErrorIs(t, err, mortise.ErrExists)
			}
			require.Equal(t, 1, created, "calls that created the dataset")
		}},

	{Rule{"datasets/get-unknown", "A dataset that is not there is ErrDatasetNotFound, for Dataset."}, needDatasets,
		func(t *testing.T, s *subject) {
			for range 2 {
				_, err := s.Datasets.Dataset(t.Context(), orgA, setA)
				require.ErrorIs(t, err, audiosearch.ErrDatasetNotFound)
				s.makeDataset(t, orgA, setB)
				require.NoError(t, s.Datasets.DeleteDataset(t.Context(), orgA, setB))
			}
			_, err := s.Datasets.Dataset(t.Context(), "", "")
			require.ErrorIs(t, err, audiosearch.ErrDatasetNotFound, "Service.Ping may ask so")
		}},

	{Rule{"datasets/organizations-are-apart", "A dataset of another organization reads like one that does not exist, and does not take its ID."}, needDatasets,
		func(t *testing.T, s *subject) {
			a := s.makeDataset(t, orgA, setA)
			_, err := s.Datasets.Dataset(t.Context(), orgB, setA)
			require.ErrorIs(t, err, audiosearch.ErrDatasetNotFound)
			require.Empty(t, s.datasets(t, orgB, "", 10))
			b := audiosearch.Dataset{Organization: orgB, ID: setA, CreatedAt: moment(time.Hour)}
			require.NoError(t, s.Datasets.CreateDataset(t.Context(), b))
			s.hasDataset(t, a)
			s.hasDataset(t, b)
		}},

	{Rule{"datasets/names-are-exact", "Organizations and datasets are the same if every byte is."}, needDatasets,
		func(t *testing.T, s *subject) {
			for i, org := range exactNames {
				for _, id := range exactNames {
					require.NoError(t, s.Datasets.CreateDataset(t.Context(),
						audiosearch.Dataset{Organization: org, ID: id, CreatedAt: moment(time.Duration(i) * time.Second)}), "%q of %q", id, org)
				}
			}
			for i, org := range exactNames {
				for _, id := range exactNames {
					s.hasDataset(t, audiosearch.Dataset{Organization: org, ID: id, CreatedAt: moment(time.Duration(i) * time.Second)})
				}
				require.ElementsMatch(t, exactNames, s.datasets(t, org, "", 100))
			}
		}},

	{Rule{"datasets/list-order", "ListDatasets returns datasets by ID, byte by byte, whole ones."}, needDatasets,
		func(t *testing.T, s *subject) {
			for _, i := range scattered(len(orderedNames)) {
				s.makeDataset(t, orgA, orderedNames[i])
			}
			require.Equal(t, orderedNames, s.datasets(t, orgA, "", 100))
			page, err := s.Datasets.ListDatasets(t.Context(), orgA, "", 100)
			require.NoError(t, err)
			for i, d := range page {
				sameDataset(t, audiosearch.Dataset{Organization: orgA, ID: orderedNames[i], CreatedAt: moment(0)}, d)
			}
		}},

	{Rule{"datasets/list-after", "ListDatasets returns datasets whose IDs are greater than after, which need not be there."}, needDatasets,
		func(t *testing.T, s *subject) {
			for _, id := range orderedNames {
				s.makeDataset(t, orgA, id)
			}
			for i, id := range orderedNames {
				require.Equal(t, orderedNames[i+1:], s.datasets(t, orgA, id, 100), "after %q", id)
				require.Equal(t, orderedNames[i+1:], s.datasets(t, orgA, id+"\x01", 100), "after what would come next to %q", id)
			}
		}},

	{Rule{"datasets/list-limit", "ListDatasets returns at most limit datasets; paging neither repeats nor skips one."}, needDatasets,
		func(t *testing.T, s *subject) {
			var want []string
			for i := range 12 {
				want = append(want, s.makeDataset(t, orgA, strconv.Itoa(100+i)).ID)
				s.makeDataset(t, orgB, strconv.Itoa(100+i))
			}
			for _, limit := range []int{1, 2, 5, 11, 12, 13, 1000} {
				var got []string
				for after := ""; ; after = got[len(got)-1] {
					page := s.datasets(t, orgA, after, limit)
					require.LessOrEqual(t, len(page), limit)
					got = append(got, page...)
					require.LessOrEqual(t, len(got), len(want), "paging repeats")
					if len(page) < limit {
						break
					}
				}
				require.Equal(t, want, got, "limit %d", limit)
			}
		}},

	{Rule{"datasets/list-empty", "ListDatasets of an organization without datasets returns none, and no error."}, needDatasets,
		func(t *testing.T, s *subject) {
			require.Empty(t, s.datasets(t, orgA, "", 10))
			s.makeDataset(t, orgA, setA)
			require.Empty(t, s.datasets(t, orgB, "", 10))
			require.Empty(t, s.datasets(t, orgA, setA, 10))
			require.Empty(t, s.datasets(t, "", "", 10))
		}},
}

// scattered returns the numbers below n in an order that is none.
func scattered(n int) []int {
	order := make([]int, n)
	step := n/2 + 1
	for gcd(step, n) != 1 {
		step++
	}
	for i := range order {
		order[i] = (i*step + n/3) % n
	}
	return order
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
