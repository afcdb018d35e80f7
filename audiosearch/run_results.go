package audiosearch

import (
	"context"
	"iter"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
)

// Run returns a run of a dataset, without its results. The error is [ErrDatasetNotFound]
// or [ErrRunNotFound] if one of the two does not exist, or they do not belong together.
func (s *Service) Run(ctx context.Context, org, dataset string, id int64) (Run, error) {
	d, err := s.store.Dataset(ctx, org, dataset)
	if err != nil {
		return Run{}, ofDataset(dataset, unavailable("read a dataset", err))
	}
	r, err := s.store.Run(ctx, org, id)
	if err == nil && (r.Query.Dataset != dataset || r.CreatedAt.Before(d.CreatedAt)) { // of this dataset, not of one of the same ID before
		err = ErrRunNotFound
	}
	if err != nil {
		return Run{}, ofRun(id, unavailable("read a run", err))
	}
	return r, nil
}

// Results returns a run, with all its results if it ended with Success. The errors are
// those of [Service.Run]. [Service.EachResult] does not hold all of them in memory.
func (s *Service) Results(ctx context.Context, org, dataset string, id int64) (Run, error) {
	r, found, err := s.EachResult(ctx, org, dataset, id)
	if err != nil || r.Termination != Success {
		return r, err
	}
	r.Results = []Result{}
	videos := make(map[string]metadata.Map)
	for result, err := range found {
		if err != nil {
			return Run{}, err
		}
		if shared, ok := videos[result.VideoID]; ok {
			result.Metadata = shared
		}
		videos[result.VideoID] = result.Metadata
		r.Results = append(r.Results, result)
	}
	return r, nil
}

// EachResult returns a run, and its results one after the other if it ended with
// Success. They are read a few at a time while the caller goes through them. The caller
// may take any time over each: nothing of the store is held meanwhile. So an error may
// come in the middle, [ErrRunNotFound] if the run is forgotten just then; nothing comes
// after it. The errors of the call are those of [Service.Run].
func (s *Service) EachResult(ctx context.Context, org, dataset string, id int64) (Run, iter.Seq2[Result, error], error) {
	r, err := s.Run(ctx, org, dataset, id)
	if err != nil || r.Termination != Success {
		return r, func(func(Result, error) bool) {}, err
	}
	read := func(from int) ([]Result, error) {
		page, err := s.store.RunResults(ctx, org, id, from)
		return page, unavailable("read the results of a run", err)
	}
	first, err := read(0) // before the caller says that all is well
	if err != nil {
		return Run{}, nil, err
	}
	return r, func(yield func(Result, error) bool) {
		page, from := first, 0
		for len(page) > 0 {
			for _, result := range page {
				if !yield(result, nil) {
					return
				}
			}
			from += len(page)
			var err error
			if page, err = read(from); err != nil {
				yield(Result{}, err)
				return
			}
		}
	}, nil
}
