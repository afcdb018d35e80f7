package audiosearch_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// spoil changes all that a run points to.
func spoil(r audiosearch.Run) {
	for i := range r.Query.Filters {
		r.Query.Filters[i] = metadata.Filter{Key: "spoiled"}
	}
	r.Trace["k"] = "spoiled"
}

// spoiler is a Tracer and moderates; it keeps and changes what it is given.
type spoiler struct{ carrier map[string]string }

func (s *spoiler) Inject(_ context.Context, carrier map[string]string) {
	carrier["k"] = "mine"
	s.carrier = carrier
}

func (*spoiler) Start(
	ctx context.Context, _ mortise.Work, carrier map[string]string,
) (context.Context, func(error)) {
	carrier["k"] = "spoiled"
	return ctx, func(error) {}
}

func (*spoiler) Moderate(
	_ context.Context, _ string, results []audiosearch.Result,
) ([]float64, error) {
	scores := make([]float64, len(results))
	for i := range results {
		clear(results[i].Metadata)
		results[i] = audiosearch.Result{VideoID: "spoiled"}
	}
	return scores, nil
}

// TestRunsAreTheCallersToChange: whoever gets a run, or gave a part of it, may change
// that as they like. The stored one stays, whether it is queued by the store or after it.
func TestRunsAreTheCallersToChange(t *testing.T) {
	hooks := new(spoiler)
	change := func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
		o.Tracer, o.Moderate = hooks, hooks.Moderate
	}
	apart, _ := newPutRig(t, change)
	for name, r := range map[string]*rig{"with its job": newRig(t, change), "apart": apart} {
		t.Run(name, func(t *testing.T) {
			r.video("a", 2000, nil, metadata.Map{"k": metadata.Int(1)})
			stays := func(id int64) audiosearch.Run {
				t.Helper()
				run, err := r.Run(t.Context(), org, "d", id)
				require.NoError(t, err)
				want := []metadata.Filter{{Key: "k", Op: metadata.OpEqual, Value: "1"}}
				assert.Equal(t, want, run.Query.Filters)
				assert.Equal(t, map[string]string{"k": "mine"}, run.Trace)
				return run
			}
			start := func() audiosearch.Run {
				t.Helper()
				filters := []metadata.Filter{{Key: "k", Value: "1"}}
				q := audiosearch.Query{Dataset: "d", Class: loud, Filters: filters}
				run, err := r.Start(t.Context(), org, "", q)
				require.NoError(t, err)
				assert.Empty(t, filters[0].Op, "the default is none of the caller's")
				filters[0].Value = "spoiled"
				assert.Equal(t, "1", run.Query.Filters[0].Value)
				hooks.carrier["k"] = "spoiled"
				stays(run.ID)
				spoil(run)
				spoil(stays(run.ID))
				stays(run.ID)
				return run
			}
			cancelled, err := r.Cancel(t.Context(), org, "", "d", start().ID)
			require.NoError(t, err)
			spoil(cancelled)
			stays(cancelled.ID)

			run := start()
			r.drain(10)
			assert.Equal(t, audiosearch.Success, stays(run.ID).Termination)
			found := r.results(run.ID).Results
			require.Len(t, found, 1)
			assert.Equal(t, "a", found[0].VideoID)
			assert.Equal(t, metadata.Map{"k": metadata.Int(1)}, found[0].Metadata)
		})
	}
}

// mapsStore knows the maps that it gave and got.
type mapsStore struct {
	*putStore
	gave map[uintptr]metadata.Map // by address, which is theirs as long as they are here
}

func mapOf(m metadata.Map) uintptr { return reflect.ValueOf(m).Pointer() }

func (s *mapsStore) Videos(
	ctx context.Context, org, dataset string, ids []string,
) ([]audiosearch.Video, int, error) {
	videos, looked, err := s.Store.Videos(ctx, org, dataset, ids)
	for _, v := range videos {
		s.gave[mapOf(v.Metadata)] = v.Metadata
	}
	return videos, looked, err
}

// TestMetadataIsNotCopied: what the store gives is what it gets, and what a search in
// process returns. Moderate sees a copy, as it may be left behind with it.
func TestMetadataIsNotCopied(t *testing.T) {
	moderators := map[string]moderate{"plain": nil, "moderated": new(spoiler).Moderate}
	for name, moderator := range moderators {
		t.Run(name, func(t *testing.T) {
			db := newMemory(t)
			store := &mapsStore{
				putStore: &putStore{Store: db.AudioSearch().Store, Pruner: db.AudioSearch().Store.(*memory.AudioSearch)},
				gave:     make(map[uintptr]metadata.Map),
			}
			r := newRigOn(t, db, store, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) {
				o.Moderate = moderator
			})
			for _, id := range []string{"a", "b"} {
				r.video(id, 3000, nil, metadata.Map{"k": metadata.String(id)})
			}
			r.search(audiosearch.Query{Class: loud})
			require.Len(t, store.batches, 1)
			require.Len(t, store.batches[0], 2)
			for _, v := range store.batches[0] {
				assert.Contains(t, store.gave, mapOf(v.Metadata), v.ID)
			}
			found, err := r.Search(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: loud})
			require.NoError(t, err)
			require.Len(t, found.Results, 4)
			for _, result := range found.Results {
				assert.Contains(t, store.gave, mapOf(result.Metadata), result.VideoID)
				assert.Equal(t, metadata.Map{"k": metadata.String(result.VideoID)}, result.Metadata)
				assert.Equal(t, moderator != nil, result.Moderation != nil)
			}
		})
	}
}
