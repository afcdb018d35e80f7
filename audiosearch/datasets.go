package audiosearch

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/seed-6363c74e/mortise/internal/name"
)

// CreateDataset makes an empty dataset. If the organization has one of this ID, the error is [ErrExists].
func (s *Service) CreateDataset(ctx context.Context, org, id string) (Dataset, error) {
	var p problems
	checkName(&p, "id", id)
	if err := p.err(); err != nil {
		return Dataset{}, err
	}
	d := Dataset{Organization: org, ID: id, CreatedAt: s.now()}
	return d, unavailable("create a dataset", s.store.CreateDataset(ctx, d))
}

func checkName(p *problems, field, value string) {
	if problem := name.Problem(value); problem != "" {
		p.add(field, ProblemInvalid, "%s", problem)
	}
}

// Dataset returns a dataset, or [ErrDatasetNotFound].
func (s *Service) Dataset(ctx context.Context, org, id string) (Dataset, error) {
	d, err := s.store.Dataset(ctx, org, id)
	return d, unavailable("read a dataset", err)
}

// pageSize is how many rows are read at a time.
const pageSize = 500

// Datasets returns the organization's datasets by ID. An error is the last element.
func (s *Service) Datasets(ctx context.Context, org string) iter.Seq2[Dataset, error] {
	return paged("list datasets", func(after string) ([]Dataset, error) {
		return s.store.ListDatasets(ctx, org, after, pageSize)
	}, func(d Dataset) string { return d.ID })
}

// paged walks over pages of what is listed by ID.
func paged[T any](doing string, page func(after string) ([]T, error), id func(T) string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		after := ""
		for {
			items, err := page(after)
			if err != nil {
				var none T
				yield(none, unavailable(doing, err))
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if len(items) < pageSize {
				return
			}
			after = id(items[len(items)-1])
		}
	}
}

// DeleteDataset removes a dataset with its videos and their scores. Runs over it end by themselves.
func (s *Service) DeleteDataset(ctx context.Context, org, id string) error {
	return unavailable("delete a dataset", s.store.DeleteDataset(ctx, org, id))
}

// MaxVideos is how many videos one PutVideos takes.
const MaxVideos = 1000

// PutVideos adds videos to a dataset, or replaces those of the same IDs, all or none. A video whose path changes loses its scores; one whose path
// stays keeps them, until [Service.Ingest] sees that the file has changed. Nothing is opened: a video is scored by Ingest, or by the first run that needs it.
func (s *Service) PutVideos(ctx context.Context, org, dataset string, videos ...Video) error {
	var p problems
	if len(videos) > MaxVideos {
		p.add("videos", ProblemInvalid, "must be at most %d at a time", MaxVideos)
		return p.err()
	}
	seen := make(map[string]bool, len(videos))
	stored := make([]Video, len(videos))
	for i, v := range videos {
		field := fmt.Sprintf("videos[%d].", i)
		checkName(&p, field+"id", v.ID)
		if seen[v.ID] {
			p.add(field+"id", ProblemInvalid, "must not come twice")
		}
		seen[v.ID] = true
		checkPath(&p, field+"path", v.Path)
		v.Metadata.check(&p, field+"metadata")
		stored[i] = v
		stored[i].Metadata = maps.Clone(v.Metadata)
	}
	if err := p.err(); err != nil {
		return err
	}
	return unavailable("store videos", s.store.PutVideos(ctx, org, dataset, stored))
}

// maxPath bounds a video's path, in bytes.
const maxPath = 4096

func checkPath(p *problems, field, path string) {
	if len(path) > maxPath {
		p.add(field, ProblemInvalid, "must be at most %d bytes", maxPath)
		return
	}
	// What a path may be, Files says. What cannot be a name of anything, it need not be asked.
	if problem := name.Problem(path[:min(len(path), name.Max)]); problem != "" && len(path) <= name.Max {
		p.add(field, ProblemInvalid, "%s", problem)
	} else if !validText(path) {
		p.add(field, ProblemInvalid, "must be valid UTF-8 without U+0000")
	}
}

// Video returns a video, or [ErrVideoNotFound].
func (s *Service) Video(ctx context.Context, org, dataset, id string) (Video, error) {
	v, err := s.store.Video(ctx, org, dataset, id)
	return v, unavailable("read a video", err)
}

// Videos returns the videos of a dataset by ID. An error is the last element.
func (s *Service) Videos(ctx context.Context, org, dataset string) iter.Seq2[Video, error] {
	return paged("list videos", func(after string) ([]Video, error) {
		return s.store.ListVideos(ctx, org, dataset, after, pageSize)
	}, func(v Video) string { return v.ID })
}

// DeleteVideo removes a video with its scores.
func (s *Service) DeleteVideo(ctx context.Context, org, dataset, id string) error {
	return unavailable("delete a video", s.store.DeleteVideo(ctx, org, dataset, id))
}

// Scoring returns what came of scoring a video by the present model, or [ErrNotScored].
func (s *Service) Scoring(ctx context.Context, org, dataset, video string) (Scoring, error) {
	m, err := s.model(ctx)
	if err != nil {
		return Scoring{}, err
	}
	scoring, err := s.store.Scoring(ctx, org, dataset, video, m.ID)
	return scoring, unavailable("read a scoring", err)
}

// checkQuery fills in defaults and returns what is wrong with a query in itself.
func (s *Service) checkQuery(q *Query) *problems {
	p := new(problems)
	if q.Limit == 0 {
		q.Limit = min(DefaultLimit, s.opts.MaxLimit)
	}
	if q.Limit < 0 || q.Limit > s.opts.MaxLimit {
		p.add("limit", ProblemInvalid, "must be 1 to %d", s.opts.MaxLimit)
	}
	if q.Offset < 0 {
		p.add("offset", ProblemInvalid, "must be 0 or more")
	}
	if !q.Class.Valid() {
		p.add("audio_class", ProblemInvalid, "is no sound class")
	}
	if !(q.MinScore >= 0 && q.MinScore <= 1) {
		p.add("min_score", ProblemInvalid, "must be 0 to 1")
	}
	if len(q.Filters) > s.opts.MaxFilters {
		p.add("metadata_filters", ProblemInvalid, "must be at most %d", s.opts.MaxFilters)
		return p
	}
	q.Filters = slices.Clone(q.Filters)
	for i := range q.Filters {
		f := &q.Filters[i]
		if f.Op == "" {
			f.Op = OpEqual
		}
		if len(f.Key) > MaxFilterBytes {
			p.add(fmt.Sprintf("metadata_filters[%d].key", i), ProblemTooLong, "string should have at most %d bytes", MaxFilterBytes)
		}
		_, err := f.Predicate()
		if len(f.Value) > MaxFilterBytes {
			p.add(fmt.Sprintf("metadata_filters[%d].value", i), ProblemTooLong, "string should have at most %d bytes", MaxFilterBytes)
		} else if errors.Is(err, errNotANumber) {
			p.add(fmt.Sprintf("metadata_filters[%d].value", i), ProblemNotANumber, "must be a number, because the operator is %s", f.Op)
		}
		if err != nil && !errors.Is(err, errNotANumber) {
			p.add(fmt.Sprintf("metadata_filters[%d].op", i), ProblemInvalid, "is no operator")
		}
	}
	return p
}
