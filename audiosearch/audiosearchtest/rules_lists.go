package audiosearchtest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/conformance/listtest"
)

// lists are all lists of package audiosearch.
var lists = []listtest.List[*subject]{
	{ID: "datasets", Method: "ListDatasets", Items: "datasets", Needs: needDatasets, Open: func(_ *testing.T, s *subject, org string) listtest.Opened {
		return listtest.Opened{
			Position: func(i listtest.Item) mortise.Position { return mortise.Position{ID: listtest.Name(i.N)} },
			Add: func(t *testing.T, items ...listtest.Item) {
				for _, i := range items {
					s.makeDataset(t, org, listtest.Name(i.N))
				}
			},
			Remove: func(t *testing.T, i listtest.Item) {
				require.NoError(t, s.Datasets.DeleteDataset(t.Context(), org, listtest.Name(i.N)))
			},
			Page: listtest.Of(func(ctx context.Context, after mortise.Cursor, limit int) (mortise.Page[audiosearch.Dataset], error) {
				return s.Datasets.ListDatasets(ctx, org, after, limit)
			}, (*audiosearch.Dataset).Position),
		}
	}},
	{ID: "videos", Method: "ListVideos", Items: "videos of a dataset", Needs: needCatalog, Open: func(t *testing.T, s *subject, org string) listtest.Opened {
		s.makeDataset(t, org, setA)
		return listtest.Opened{
			Position: func(i listtest.Item) mortise.Position { return mortise.Position{ID: listtest.Name(i.N)} },
			Add: func(t *testing.T, items ...listtest.Item) {
				var videos []audiosearch.Video
				for _, i := range items {
					videos = append(videos, video(listtest.Name(i.N), nil))
				}
				s.put(t, org, setA, videos...)
			},
			Remove: func(t *testing.T, i listtest.Item) {
				require.NoError(t, s.Catalog.DeleteVideo(t.Context(), org, setA, listtest.Name(i.N)))
			},
			Page: listtest.Of(func(ctx context.Context, after mortise.Cursor, limit int) (mortise.Page[audiosearch.Video], error) {
				return s.Catalog.ListVideos(ctx, org, setA, after, limit)
			}, (*audiosearch.Video).Position),
		}
	}},
	listOfRuns("runs", "runs", audiosearch.RunQuery{}),
	listOfRuns("open-runs", "runs that have not ended", audiosearch.RunQuery{Open: true}),
	listOfRuns("runs-of-dataset", "runs over a dataset", audiosearch.RunQuery{Dataset: setA}),
	listOfRuns("runs-of-actor", "runs of an actor", audiosearch.RunQuery{Actor: "alice"}),
}

// listOfRuns is the list of what a query selects. A run goes from a list of open runs when
// it ends.
func listOfRuns(id, what string, q audiosearch.RunQuery) listtest.List[*subject] {
	return listtest.List[*subject]{ID: id, Method: "ListRuns", Items: what, Needs: needRuns, Newest: true,
		Open: func(_ *testing.T, s *subject, org string) listtest.Opened {
			run := func(i listtest.Item) audiosearch.Run {
				r := plainRun(org, 0)
				r.ID, r.CreatedAt = listtest.Number(org, i.N), i.At()
				return r
			}
			l := listtest.Opened{
				Position: func(i listtest.Item) mortise.Position {
					r := run(i)
					return r.Position()
				},
				Add: func(t *testing.T, items ...listtest.Item) {
					for _, i := range items {
						s.createRun(t, run(i))
					}
				},
				Page: listtest.Of(func(ctx context.Context, after mortise.Cursor, limit int) (mortise.Page[audiosearch.Run], error) {
					q := q // parallel tests share the list
					q.After, q.Limit = after, limit
					return s.Runs.ListRuns(ctx, org, q)
				}, (*audiosearch.Run).Position),
			}
			if q.Open {
				l.Remove = func(t *testing.T, i listtest.Item) {
					s.updateRun(t, run(i), func(r *audiosearch.Run) { r.State = audiosearch.StateTerminated })
				}
			}
			return l
		}}
}

func listsRules() (rules []rule) {
	for _, r := range listtest.Rules(lists) {
		rules = append(rules, rule{Rule{r.ID, r.Text}, r.Needs, r.Check})
	}
	return rules
}
