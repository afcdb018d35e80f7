package audiosearchtest_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

var datasetMutants = []broken{
	{name: "truncates times to milliseconds", breaks: []string{"datasets/create-and-get"}, mutate: func(m *mutant) {
		m.everyDataset(func(d *audiosearch.Dataset) { d.CreatedAt = d.CreatedAt.Truncate(time.Millisecond) })
	}},
	{name: "makes datasets that are there", breaks: []string{"datasets/create-exists", "datasets/create-concurrent"}, mutate: func(m *mutant) {
		m.createDataset = func(ctx context.Context, d audiosearch.Dataset) error {
			_ = m.db.DeleteDataset(ctx, d.Organization, d.ID)
			_ = m.db.CreateDataset(ctx, d)
			return nil
		}
	}},
	{name: "replaces datasets and complains", breaks: []string{"datasets/create-exists"}, mutate: func(m *mutant) {
		m.createDataset = func(ctx context.Context, d audiosearch.Dataset) error {
			err := m.db.CreateDataset(ctx, d)
			if err != nil {
				_ = m.db.DeleteDataset(ctx, d.Organization, d.ID)
				_ = m.db.CreateDataset(ctx, d)
			}
			return err
		}
	}},
	{name: "looks for a dataset and then makes it", breaks: []string{"datasets/create-concurrent"}, mutate: func(m *mutant) {
		m.createDataset = func(ctx context.Context, d audiosearch.Dataset) error {
			if _, err := m.db.Dataset(ctx, d.Organization, d.ID); err == nil {
				return audiosearch.ErrExists
			}
			conformance.Seam()
			_ = m.db.CreateDataset(ctx, d)
			return nil
		}
	}},
	{name: "returns nothing for what is not there", breaks: []string{"datasets/get-unknown", "datasets/organizations-are-apart", "datasets/delete"}, mutate: func(m *mutant) {
		m.dataset = func(ctx context.Context, org, id string) (audiosearch.Dataset, error) {
			d, err := m.db.Dataset(ctx, org, id)
			if errors.Is(err, audiosearch.ErrDatasetNotFound) {
				err = nil
			}
			return d, err
		}
	}},
	{name: "folds case", breaks: []string{"datasets/names-are-exact", "catalog/ids-are-exact", "scores/models-are-apart", "catalog/missing-keys-are-exact", "runs/organizations-are-apart"},
		mutate: func(m *mutant) { m.renamed(strings.ToLower) }},
	{name: "lists datasets like a dictionary", breaks: []string{"datasets/list-order", "datasets/list-after"}, mutate: func(m *mutant) {
		m.everyDatasetPage(func(page []audiosearch.Dataset, limit int) []audiosearch.Dataset {
			page = page[:min(limit, len(page))]
			slices.SortStableFunc(page, func(a, b audiosearch.Dataset) int {
				return strings.Compare(strings.ToLower(a.ID), strings.ToLower(b.ID))
			})
			return page
		})
	}},
	{name: "lists datasets from the given one on", breaks: []string{"datasets/list-after", "datasets/list-limit"}, mutate: func(m *mutant) {
		m.listDatasets = func(ctx context.Context, org, after string, limit int) ([]audiosearch.Dataset, error) {
			page, err := m.db.ListDatasets(ctx, org, after, limit)
			if d, err := m.db.Dataset(ctx, org, after); err == nil {
				page = append([]audiosearch.Dataset{d}, page...)
			}
			return page[:min(limit, len(page))], err
		}
	}},
	{name: "lists one dataset too many", breaks: []string{"datasets/list-limit"}, mutate: func(m *mutant) {
		m.everyDatasetPage(func(page []audiosearch.Dataset, _ int) []audiosearch.Dataset { return page })
	}},
	{name: "misses datasets that are not listed", breaks: []string{"datasets/list-empty"}, mutate: func(m *mutant) {
		m.listDatasets = func(ctx context.Context, org, after string, limit int) ([]audiosearch.Dataset, error) {
			page, err := m.db.ListDatasets(ctx, org, after, limit)
			if err == nil && len(page) == 0 {
				err = audiosearch.ErrDatasetNotFound
			}
			return page, err
		}
	}},
	{name: "deletes nothing", breaks: []string{"datasets/delete", "datasets/delete-videos", "datasets/delete-scores"}, mutate: func(m *mutant) {
		m.deleteDataset = func(ctx context.Context, org, id string) error {
			_, err := m.db.Dataset(ctx, org, id)
			return err
		}
	}},
	{name: "deletes what is not there", breaks: []string{"datasets/delete-unknown"}, mutate: func(m *mutant) {
		m.deleteDataset = func(ctx context.Context, org, id string) error {
			err := m.db.DeleteDataset(ctx, org, id)
			if errors.Is(err, audiosearch.ErrDatasetNotFound) {
				err = nil
			}
			return err
		}
	}},
	{name: "keeps the videos of what it deletes", breaks: []string{"datasets/delete-videos"}, mutate: func(m *mutant) {
		var kept []audiosearch.Video
		m.deleteDataset = func(ctx context.Context, org, id string) error {
			kept, _ = m.db.ListVideos(ctx, org, id, "", 100)
			return m.db.DeleteDataset(ctx, org, id)
		}
		m.createDataset = func(ctx context.Context, d audiosearch.Dataset) error {
			return errors.Join(m.db.CreateDataset(ctx, d), m.db.PutVideos(ctx, d.Organization, d.ID, kept))
		}
	}},
	{name: "keeps the scores of what it deletes", breaks: []string{"datasets/delete-scores", "scores/delete-concurrent"}, mutate: func(m *mutant) {
		kept := make(map[[2]string][]uint16)
		var mu sync.Mutex
		m.putScoring = func(ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16) error {
			err := m.db.PutScoring(ctx, org, dataset, video, path, s, columns)
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				kept[[2]string{org, dataset}] = slices.Clone(columns[0])
			}
			return err
		}
		m.everySearch(nil, nil)
		search := m.search
		m.search = func(ctx context.Context, org, dataset string, q audiosearch.ScoreQuery) ([]audiosearch.Hit, error) {
			hits, err := search(ctx, org, dataset, q)
			mu.Lock()
			defer mu.Unlock()
			if err == nil && len(hits) == 0 {
				for i, score := range kept[[2]string{org, dataset}] {
					hits = append(hits, audiosearch.Hit{Video: "v", Window: i, Score: score})
				}
			}
			return hits, err
		}
	}},
	{name: "deletes the runs of a dataset", breaks: []string{"datasets/delete-keeps-runs"}, mutate: func(m *mutant) {
		m.deleteDataset = func(ctx context.Context, org, id string) error {
			_, _ = m.db.PruneRuns(ctx, time.Now(), 100)
			return m.db.DeleteDataset(ctx, org, id)
		}
	}},
}

var catalogMutants = []broken{
	{name: "makes datasets for videos", breaks: []string{"catalog/no-dataset"}, mutate: func(m *mutant) {
		m.putVideos = func(ctx context.Context, org, dataset string, videos []audiosearch.Video) error {
			_ = m.db.CreateDataset(ctx, audiosearch.Dataset{Organization: org, ID: dataset})
			return m.db.PutVideos(ctx, org, dataset, videos)
		}
	}},
	{name: "reads numbers", breaks: []string{"catalog/put-and-get", "filters/text"}, mutate: func(m *mutant) {
		m.everyMetadata(func(key string, value metadata.Scalar) (string, metadata.Scalar) {
			if value.Kind() == metadata.KindNumber {
				text := strings.TrimSuffix(value.Text(), ".0")
				_ = value.UnmarshalJSON([]byte(text))
			}
			return key, value
		})
	}},
	{name: "has few keys", breaks: []string{"catalog/much-metadata"}, mutate: func(m *mutant) {
		m.everyVideo(func(v *audiosearch.Video) {
			for i, key := range slices.Sorted(maps.Keys(v.Metadata)) {
				if i > 255 {
					delete(v.Metadata, key)
				}
			}
		})
	}},
	{name: "merges metadata", breaks: []string{"catalog/put-replaces", "catalog/missing-keys-follow-changes"}, mutate: func(m *mutant) {
		m.putVideos = func(ctx context.Context, org, dataset string, videos []audiosearch.Video) error {
			for i, v := range videos {
				if old, err := m.db.Video(ctx, org, dataset, v.ID); err == nil {
					maps.Copy(old.Metadata, v.Metadata)
					videos[i].Metadata = old.Metadata
				}
			}
			return m.db.PutVideos(ctx, org, dataset, videos)
		}
	}},
	{name: "returns no video for what is not there", breaks: []string{"catalog/get-unknown", "catalog/delete"}, mutate: func(m *mutant) {
		m.video = func(ctx context.Context, org, dataset, id string) (audiosearch.Video, error) {
			v, err := m.db.Video(ctx, org, dataset, id)
			if errors.Is(err, audiosearch.ErrVideoNotFound) {
				err = nil
			}
			return v, err
		}
	}},
	{name: "has one set of videos", breaks: []string{"catalog/datasets-are-apart", "catalog/get-unknown"}, mutate: func(m *mutant) {
		m.putVideos = func(ctx context.Context, _, _ string, videos []audiosearch.Video) error {
			_ = m.db.CreateDataset(ctx, audiosearch.Dataset{Organization: "all", ID: "all"})
			return m.db.PutVideos(ctx, "all", "all", videos)
		}
		m.video = func(ctx context.Context, _, _, id string) (audiosearch.Video, error) {
			return m.db.Video(ctx, "all", "all", id)
		}
	}},
	{name: "deletes all videos", breaks: []string{"catalog/delete", "catalog/ids-are-exact"}, mutate: func(m *mutant) {
		m.deleteVideo = func(ctx context.Context, org, dataset, id string) error {
			all, _ := m.db.ListVideos(ctx, org, dataset, "", 1000)
			err := m.db.DeleteVideo(ctx, org, dataset, id)
			for _, v := range all {
				_ = m.db.DeleteVideo(ctx, org, dataset, v.ID)
			}
			return err
		}
	}},
	{name: "deletes videos that are not there", breaks: []string{"catalog/delete-unknown"}, mutate: func(m *mutant) {
		m.deleteVideo = func(ctx context.Context, org, dataset, id string) error {
			err := m.db.DeleteVideo(ctx, org, dataset, id)
			if errors.Is(err, audiosearch.ErrVideoNotFound) {
				err = nil
			}
			return err
		}
	}},
	{name: "keeps the caller's metadata", breaks: []string{"catalog/copies"}, mutate: func(m *mutant) {
		kept := make(map[string]metadata.Map)
		m.putVideos = func(ctx context.Context, org, dataset string, videos []audiosearch.Video) error {
			for _, v := range videos {
				kept[v.ID] = v.Metadata
			}
			return m.db.PutVideos(ctx, org, dataset, videos)
		}
		m.everyVideo(func(v *audiosearch.Video) { v.Metadata = kept[v.ID] })
	}},
	{name: "returns its own metadata", breaks: []string{"catalog/copies", "scores/unscored-whole"}, mutate: func(m *mutant) {
		own := make(map[string]metadata.Map)
		m.everyVideo(func(v *audiosearch.Video) {
			if own[v.ID] == nil {
				own[v.ID] = v.Metadata
			}
			v.Metadata = own[v.ID]
		})
	}},
	{name: "lists videos like a dictionary", breaks: []string{"catalog/list-order", "catalog/list-after"}, mutate: func(m *mutant) {
		m.listVideos = func(ctx context.Context, org, dataset, after string, limit int) ([]audiosearch.Video, error) {
			page, err := m.db.ListVideos(ctx, org, dataset, after, limit)
			slices.SortStableFunc(page, func(a, b audiosearch.Video) int { return strings.Compare(strings.ToLower(a.ID), strings.ToLower(b.ID)) })
			return page, err
		}
	}},
	{name: "lists videos from the given one on", breaks: []string{"catalog/list-after", "catalog/list-limit"}, mutate: func(m *mutant) {
		m.listVideos = func(ctx context.Context, org, dataset, after string, limit int) ([]audiosearch.Video, error) {
			page, err := m.db.ListVideos(ctx, org, dataset, after, limit)
			if v, err := m.db.Video(ctx, org, dataset, after); err == nil {
				page = append([]audiosearch.Video{v}, page...)
			}
			return page[:min(limit, len(page))], err
		}
	}},
	{name: "lists one video too many", breaks: []string{"catalog/list-limit"}, mutate: func(m *mutant) {
		m.listVideos = func(ctx context.Context, org, dataset, after string, limit int) ([]audiosearch.Video, error) {
			return m.db.ListVideos(ctx, org, dataset, after, limit+1)
		}
	}},
	{name: "puts videos one by one", breaks: []string{"catalog/put-is-whole"}, mutate: func(m *mutant) {
		m.putVideos = func(ctx context.Context, org, dataset string, videos []audiosearch.Video) error {
			for i := range videos {
				conformance.Seam()
				if err := m.db.PutVideos(ctx, org, dataset, videos[i:i+1]); err != nil {
					return err
				}
			}
			return nil
		}
	}},
	{name: "loses videos that are put at once", breaks: []string{"catalog/put-concurrent"}, mutate: func(m *mutant) {
		m.putVideos = func(ctx context.Context, org, dataset string, videos []audiosearch.Video) error {
			before, _ := m.db.ListVideos(ctx, org, dataset, "", 1000)
			conformance.Seam()
			if err := m.db.PutVideos(ctx, org, dataset, videos); err != nil {
				return err
			}
			now, _ := m.db.ListVideos(ctx, org, dataset, "", 1000)
			for _, v := range now {
				same := func(other audiosearch.Video) bool { return other.ID == v.ID }
				if !slices.ContainsFunc(before, same) && !slices.ContainsFunc(videos, same) {
					_ = m.db.DeleteVideo(ctx, org, dataset, v.ID)
				}
			}
			return nil
		}
	}},
	{name: "sorts missing keys", breaks: []string{"catalog/missing-keys"}, mutate: func(m *mutant) {
		m.missingKeys = func(ctx context.Context, org, dataset string, keys []string) ([]string, error) {
			missing, err := m.db.MissingKeys(ctx, org, dataset, keys)
			slices.Sort(missing)
			return missing, err
		}
	}},
	{name: "misses keys with null", breaks: []string{"catalog/missing-keys-null"}, mutate: func(m *mutant) {
		m.missingKeys = func(ctx context.Context, org, dataset string, keys []string) (missing []string, err error) {
			videos, err := m.db.ListVideos(ctx, org, dataset, "", 1000)
			for _, key := range keys {
				has := func(v audiosearch.Video) bool { return v.Metadata[key] != metadata.Scalar{} }
				if !slices.ContainsFunc(videos, has) {
					missing = append(missing, key)
				}
			}
			return missing, err
		}
	}},
	{name: "remembers keys for ever", breaks: []string{"catalog/missing-keys-follow-changes", "datasets/delete-videos"}, mutate: func(m *mutant) {
		seen := make(map[string]bool)
		m.everyMetadata(func(key string, value metadata.Scalar) (string, metadata.Scalar) {
			seen[key] = true
			return key, value
		})
		m.missingKeys = func(ctx context.Context, org, dataset string, keys []string) ([]string, error) {
			missing, err := m.db.MissingKeys(ctx, org, dataset, keys)
			return slices.DeleteFunc(missing, func(key string) bool { return seen[key] }), err
		}
	}},
	{name: "keeps scorings when the path changes", breaks: []string{"catalog/other-path-removes-scorings"}, mutate: func(m *mutant) {
		paths := make(map[string]string)
		m.everyPut(func(v *audiosearch.Video) {
			if old, ok := paths[v.ID]; ok {
				v.Path = old
			}
			paths[v.ID] = v.Path
		})
	}},
	{name: "removes scorings with every change", breaks: []string{"catalog/same-path-keeps-scorings", "scores/unscored-follows-changes"}, mutate: func(m *mutant) {
		m.putVideos = func(ctx context.Context, org, dataset string, videos []audiosearch.Video) error {
			for _, v := range videos {
				_ = m.db.DeleteVideo(ctx, org, dataset, v.ID)
			}
			return m.db.PutVideos(ctx, org, dataset, videos)
		}
	}},
	{name: "hides deleted videos only", breaks: []string{"catalog/delete-removes-scorings"}, mutate: func(m *mutant) {
		m.deleteVideo = func(ctx context.Context, org, dataset, id string) error {
			_, err := m.db.Video(ctx, org, dataset, id)
			return err
		}
	}},
}
