package audiosearchtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

// hasDataset requires that the dataset is there as it is.
func (s *subject) hasDataset(t *testing.T, want audiosearch.Dataset) {
	t.Helper()
	got, err := s.Datasets.Dataset(t.Context(), want.Organization, want.ID)
	require.NoError(t, err, "Dataset %q", want.ID)
	sameDataset(t, want, got)
}

// datasets returns the IDs of all datasets, on one page.
func (s *subject) datasets(t *testing.T, org string) []string {
	t.Helper()
	page, err := s.Datasets.ListDatasets(t.Context(), org, "", mortise.MaxPageSize)
	require.NoError(t, err)
	require.Empty(t, page.Next, "Next of the last page")
	ids := make([]string, 0, len(page.Items))
	for _, d := range page.Items {
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

	{Rule{"datasets/names-are-apart", "A dataset is named by its organization and its ID: what reads the same when the two are joined is another dataset, and stays when this one is deleted."}, needDatasets,
		func(t *testing.T, s *subject) {
			conformance.Apart(t,
				func(pair [2]string) { s.makeDataset(t, pair[0], pair[1]) },
				func(pair [2]string) bool {
					_, err := s.Datasets.Dataset(t.Context(), pair[0], pair[1])
					return err == nil
				},
				func(pair [2]string) { require.NoError(t, s.Datasets.DeleteDataset(t.Context(), pair[0], pair[1])) })
		}},

	{Rule{"datasets/longest", "Every text of a dataset comes back whole, as long as it can be."}, needDatasets,
		func(t *testing.T, s *subject) {
			d := audiosearch.Dataset{CreatedAt: moment(0)}
			mutate.Stretch(&d)
			require.NoError(t, s.Datasets.CreateDataset(t.Context(), d))
			s.hasDataset(t, d)
			require.Equal(t, []string{d.ID}, s.datasets(t, d.Organization))
		}},

	{Rule{"datasets/create-exists", "If the organization has a dataset of this ID, CreateDataset leaves it as it is and returns ErrExists."}, needDatasets,
		func(t *testing.T, s *subject) {
			want := s.makeDataset(t, orgA, setA)
			again := want
			again.CreatedAt = moment(time.Hour)
			require.ErrorIs(t, s.Datasets.CreateDataset(t.Context(), again), mortise.ErrExists)
			s.hasDataset(t, want)
			require.Equal(t, []string{setA}, s.datasets(t, orgA))
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
			require.Empty(t, s.datasets(t, orgB))
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
				require.ElementsMatch(t, exactNames, s.datasets(t, org))
			}
		}},

	{Rule{"datasets/list-order", "ListDatasets returns datasets by ID, byte by byte, whole ones."}, needDatasets,
		func(t *testing.T, s *subject) {
			for _, i := range scattered(len(orderedNames)) {
				s.makeDataset(t, orgA, orderedNames[i])
			}
			require.Equal(t, orderedNames, s.datasets(t, orgA))
			page, err := s.Datasets.ListDatasets(t.Context(), orgA, "", 100)
			require.NoError(t, err)
			for i, d := range page.Items {
				sameDataset(t, audiosearch.Dataset{Organization: orgA, ID: orderedNames[i], CreatedAt: moment(0)}, d)
			}
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
