package audiosearchtest_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

var datasetMutants = []broken{
	{name: "finds nothing when its caller leaves", breaks: "datasets/left-at-any-look catalog/left-at-any-look scores/left-at-any-look runs/left-at-any-look",
		mutate: func(m *mutant) { mutate.Leaving(&m.On, audiosearch.ErrDatasetNotFound) }},
	{name: "joins the names of deleted datasets", breaks: "datasets/names-are-apart",
		mutate: func(m *mutant) { mutate.Joined(&m.On, audiosearch.ErrDatasetNotFound, "Dataset", "DeleteDataset") }},
	{name: "makes datasets that are there", breaks: "datasets/create-exists datasets/create-concurrent",
		mutate: around(func(m *mutant, c *mutate.Call) {
			d := mutate.Get[audiosearch.Dataset](c.In)
			_ = m.db.DeleteDataset(bg, d.Organization, d.ID)
			c.Go()
			*c.Err() = nil
		}, "CreateDataset")},
	{name: "replaces datasets and complains", breaks: "datasets/create-exists", mutate: around(func(m *mutant, c *mutate.Call) {
		if c.Go(); *c.Err() != nil {
			d := mutate.Get[audiosearch.Dataset](c.In)
			_ = m.db.DeleteDataset(bg, d.Organization, d.ID)
			_ = m.db.CreateDataset(bg, *d)
		}
	}, "CreateDataset")},
	{name: "looks for a dataset and then makes it", breaks: "datasets/create-concurrent",
		mutate: replace("CreateDataset", func(m *mutant, ctx context.Context, d audiosearch.Dataset) error {
			if _, err := m.db.Dataset(ctx, d.Organization, d.ID); err == nil {
				return mortise.ErrExists
			}
			conformance.Seam()
			_ = m.db.CreateDataset(ctx, d)
			return nil
		})},
	{name: "returns nothing for what is not there",
		breaks: "datasets/get-unknown datasets/organizations-are-apart datasets/delete",
		mutate: accepting(audiosearch.ErrDatasetNotFound, "Dataset")},
	{name: "folds case",
		breaks: "datasets/names-are-exact catalog/ids-are-exact scores/models-are-apart catalog/missing-keys-are-exact " +
			"runs/organizations-are-apart",
		mutate: renamed(strings.ToLower)},
	{name: "lists datasets like a dictionary", breaks: "datasets/list-order",
		mutate: out(func(page *[]audiosearch.Dataset) {
			slices.SortStableFunc(*page, func(a, b audiosearch.Dataset) int {
				return strings.Compare(strings.ToLower(a.ID), strings.ToLower(b.ID))
			})
		}, "ListDatasets")},
	{name: "deletes nothing", breaks: "datasets/delete datasets/delete-videos datasets/delete-scores",
		mutate: around(func(m *mutant, c *mutate.Call) {
			_, *c.Err() = m.db.Dataset(bg, c.In[1].String(), c.In[2].String())
		}, "DeleteDataset")},
	{name: "deletes what is not there", breaks: "datasets/delete-unknown", mutate: accepting(audiosearch.ErrDatasetNotFound, "DeleteDataset")},
	{name: "keeps the videos of what it deletes", breaks: "datasets/delete-videos", mutate: func(m *mutant) {
		var kept []audiosearch.Video
		m.On.DeleteDataset = func(ctx context.Context, org, id string) error {
			kept, _ = m.videosOf(ctx, org, id)
			return m.db.DeleteDataset(ctx, org, id)
		}
		m.On.CreateDataset = func(ctx context.Context, d audiosearch.Dataset) error {
			return errors.Join(m.db.CreateDataset(ctx, d), m.db.PutVideos(ctx, d.Organization, d.ID, kept))
		}
	}},
	{name: "keeps the scores of what it deletes", breaks: "datasets/delete-scores scores/delete-concurrent", mutate: func(m *mutant) {
		kept := make(map[[2]string][]uint16)
		var mu sync.Mutex
		m.On.PutScoring = func(ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16) error {
			err := m.db.PutScoring(ctx, org, dataset, video, path, s, columns)
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				kept[[2]string{org, dataset}] = slices.Clone(columns[0])
			}
			return err
		}
		everySearch(nil, nil)(m)
		search := m.On.Search
		m.On.Search = func(ctx context.Context, org, dataset string, q audiosearch.ScoreQuery) ([]audiosearch.Hit, error) {
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
	{name: "deletes the runs of a dataset", breaks: "datasets/delete-keeps-runs", mutate: around(func(m *mutant, c *mutate.Call) {
		_, _, _ = m.db.PruneRuns(bg, time.Now(), 100)
		c.Go()
	}, "DeleteDataset")},
}

var catalogMutants = []broken{
	{name: "makes datasets for videos", breaks: "catalog/no-dataset", mutate: around(func(m *mutant, c *mutate.Call) {
		_ = m.db.CreateDataset(bg, audiosearch.Dataset{Organization: c.In[1].String(), ID: c.In[2].String()})
		c.Go()
	}, "PutVideos")},
	{name: "reads numbers", breaks: "catalog/put-and-get filters/text", mutate: everyMetadata(
		func(key string, value metadata.Scalar) (string, metadata.Scalar) {
			if value.Kind() == metadata.KindNumber {
				text := strings.TrimSuffix(value.Text(), ".0")
				_ = value.UnmarshalJSON([]byte(text))
			}
			return key, value
		})},
	{name: "has few keys", breaks: "catalog/much-metadata", mutate: out(func(v *audiosearch.Video) {
		for i, key := range slices.Sorted(maps.Keys(v.Metadata)) {
			if i > 255 {
				delete(v.Metadata, key)
			}
		}
	})},
	{name: "merges metadata", breaks: "catalog/put-replaces catalog/missing-keys-follow-changes",
		mutate: around(func(m *mutant, c *mutate.Call) {
			videos := *mutate.Get[[]audiosearch.Video](c.In)
			for i, v := range videos {
				if old, err := m.db.Video(bg, c.In[1].String(), c.In[2].String(), v.ID); err == nil {
					maps.Copy(old.Metadata, v.Metadata)
					videos[i].Metadata = old.Metadata
				}
			}
			c.Go()
		}, "PutVideos")},
	{name: "returns no video for what is not there", breaks: "catalog/get-unknown catalog/delete", mutate: func(m *mutant) {
		m.video = func(ctx context.Context, org, dataset, id string) (audiosearch.Video, error) {
			v, err := m.db.Video(ctx, org, dataset, id)
			if errors.Is(err, audiosearch.ErrVideoNotFound) {
				err = nil
			}
			return v, err
		}
	}},
	{name: "has one set of videos", breaks: "catalog/datasets-are-apart catalog/get-unknown", mutate: func(m *mutant) {
		m.On.PutVideos = func(ctx context.Context, _, _ string, videos []audiosearch.Video) error {
			_ = m.db.CreateDataset(ctx, audiosearch.Dataset{Organization: "all", ID: "all"})
			return m.db.PutVideos(ctx, "all", "all", videos)
		}
		m.video = func(ctx context.Context, _, _, id string) (audiosearch.Video, error) {
			return m.db.Video(ctx, "all", "all", id)
		}
	}},
	{name: "deletes all videos", breaks: "catalog/delete catalog/ids-are-exact",
		mutate: replace("DeleteVideo", func(m *mutant, ctx context.Context, org, dataset, id string) error {
			all, _ := m.videosOf(ctx, org, dataset)
			err := m.db.DeleteVideo(ctx, org, dataset, id)
			for _, v := range all {
				_ = m.db.DeleteVideo(ctx, org, dataset, v.ID)
			}
			return err
		})},
	{name: "deletes videos that are not there", breaks: "catalog/delete-unknown",
		mutate: accepting(audiosearch.ErrVideoNotFound, "DeleteVideo")},
	{name: "returns its own metadata", breaks: "catalog/copies scores/unscored-whole", mutate: func(m *mutant) {
		own := make(map[string]metadata.Map)
		out(func(v *audiosearch.Video) {
			if own[v.ID] == nil {
				own[v.ID] = v.Metadata
			}
			v.Metadata = own[v.ID]
		})(m)
	}},
	{name: "lists videos like a dictionary", breaks: "catalog/list-order", mutate: out(func(page *[]audiosearch.Video) {
		slices.SortStableFunc(*page, func(a, b audiosearch.Video) int { return strings.Compare(strings.ToLower(a.ID), strings.ToLower(b.ID)) })
	}, "ListVideos")},
	{name: "puts videos one by one", breaks: "catalog/put-is-whole", mutate: around(func(_ *mutant, c *mutate.Call) {
		videos := mutate.Get[[]audiosearch.Video](c.In)
		for _, v := range *videos {
			conformance.Seam()
			*videos = []audiosearch.Video{v}
			if c.Go(); *c.Err() != nil {
				return
			}
		}
	}, "PutVideos")},
	{name: "loses videos that are put at once", breaks: "catalog/put-concurrent",
		mutate: replace("PutVideos", func(m *mutant, ctx context.Context, org, dataset string, videos []audiosearch.Video) error {
			before, _ := m.videosOf(ctx, org, dataset)
			conformance.Seam()
			if err := m.db.PutVideos(ctx, org, dataset, videos); err != nil {
				return err
			}
			now, _ := m.videosOf(ctx, org, dataset)
			for _, v := range now {
				same := func(other audiosearch.Video) bool { return other.ID == v.ID }
				if !slices.ContainsFunc(before, same) && !slices.ContainsFunc(videos, same) {
					_ = m.db.DeleteVideo(ctx, org, dataset, v.ID)
				}
			}
			return nil
		})},
	{name: "sorts missing keys", breaks: "catalog/missing-keys",
		mutate: out(func(missing *[]string) { slices.Sort(*missing) }, "MissingKeys")},
	{name: "misses keys with null", breaks: "catalog/missing-keys-null",
		mutate: replace("MissingKeys", func(m *mutant, ctx context.Context, org, dataset string, keys []string) (missing []string, err error) {
			videos, err := m.videosOf(ctx, org, dataset)
			for _, key := range keys {
				has := func(v audiosearch.Video) bool { return v.Metadata[key] != metadata.Scalar{} }
				if !slices.ContainsFunc(videos, has) {
					missing = append(missing, key)
				}
			}
			return missing, err
		})},
	{name: "remembers keys for ever", breaks: "catalog/missing-keys-follow-changes datasets/delete-videos", mutate: func(m *mutant) {
		seen := make(map[string]bool)
		everyMetadata(func(key string, value metadata.Scalar) (string, metadata.Scalar) {
			seen[key] = true
			return key, value
		})(m)
		out(func(missing *[]string) {
			*missing = slices.DeleteFunc(*missing, func(key string) bool { return seen[key] })
		}, "MissingKeys")(m)
	}},
	{name: "keeps scorings when the path changes", breaks: "catalog/other-path-removes-scorings", mutate: func(m *mutant) {
		paths := make(map[string]string)
		in(func(v *audiosearch.Video) {
			if old, ok := paths[v.ID]; ok {
				v.Path = old
			}
			paths[v.ID] = v.Path
		}, "PutVideos")(m)
	}},
	{name: "removes scorings with every change", breaks: "catalog/same-path-keeps-scorings scores/unscored-follows-changes", mutate: around(
		func(m *mutant, c *mutate.Call) {
			for _, v := range *mutate.Get[[]audiosearch.Video](c.In) {
				_ = m.db.DeleteVideo(bg, c.In[1].String(), c.In[2].String(), v.ID)
			}
			c.Go()
		}, "PutVideos")},
	{name: "hides deleted videos only", breaks: "catalog/delete-removes-scorings", mutate: around(func(m *mutant, c *mutate.Call) {
		_, *c.Err() = m.db.Video(bg, c.In[1].String(), c.In[2].String(), c.In[3].String())
	}, "DeleteVideo")},
}
