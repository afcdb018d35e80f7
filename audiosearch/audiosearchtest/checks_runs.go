package audiosearchtest

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// newRunID returns an ID that no run has.
// maxRunID is the greatest ID of a run.
const maxRunID = 1<<53 - 1

// cloneResults returns a deep copy.
func cloneResults(results []audiosearch.Result) []audiosearch.Result {
	return audiosearch.Run{Results: results}.Clone().Results
}

func newRunID() int64 { return 1 + rand.Int64N(maxRunID) }

// plainRun returns a new run with nothing optional in it.
func plainRun(org string, created time.Duration) audiosearch.Run {
	return audiosearch.Run{
		Organization: org, ID: newRunID(), Actor: "alice", Query: audiosearch.Query{Dataset: setA, Class: "7", Limit: 40},
		State: audiosearch.StatePending, CreatedAt: moment(created), UpdatedAt: moment(created),
	}
}

// endedRun returns a run that finished at the moment, with its every field set.
func endedRun(org string, finished time.Duration) audiosearch.Run {
	r := plainRun(org, finished-time.Hour)
	r.Actor = "\u00e9 '\"\\ %"
	r.Query = audiosearch.Query{
		Dataset: setA, Class: "Inside, small room \"é\" %", Limit: 1000, Offset: math.MaxInt32, MinScore: 1.0 / 3, SkipModeration: true, Model: "x, \u00e9",
		Filters: []metadata.Filter{{Key: "\u00e9 '\"\\ %", Value: "a\x00b", Op: metadata.OpContains}, {Key: "k", Value: ""}, {Key: "k", Value: "1.0", Op: metadata.OpGreaterOrEqual}},
	}
	r.State, r.Termination, r.Message = audiosearch.StateTerminated, audiosearch.Success, "2 videos cannot be searched: \u00e9.mp4"
	r.Done, r.Total, r.Attempts = 3, 5, 2
	r.Sound = audiosearch.SoundProgress{Done: 1000*time.Hour + time.Millisecond, Total: math.MaxInt32 * time.Second, Speed: 1.0 / 3}
	r.UpdatedAt, r.StartedAt, r.FinishedAt = moment(finished+2*time.Microsecond), moment(finished-time.Microsecond), moment(finished)
	r.DueAt, r.WakeAt = moment(finished+3*time.Microsecond), moment(finished-4*time.Microsecond)
	r.Trace = map[string]string{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": ""}
	r.Results = someResults()
	return r
}

// toldRun is such a run whose end is told: it can be pruned.
func toldRun(org string, finished time.Duration) audiosearch.Run {
	r := endedRun(org, finished)
	r.WakeAt = time.Time{}
	return r
}

// someVideos returns the videos of someResults: one with all that a video can have, one
// with little.
func someVideos() []audiosearch.Video {
	return []audiosearch.Video{
		{ID: "v\u00e9", Path: "videos/'%.mp4", Metadata: everyKind()},
		{ID: "a", Path: "a"},
	}
}

// someResults returns results whose every field is set in one and none in another.
func someResults() []audiosearch.Result {
	zero, score := 0.0, 1.0/3
	return withVideos(someVideos(), []audiosearch.Result{
		{
			VideoID: "v\u00e9", VideoStart: 7250 * time.Millisecond, Start: 90 * time.Minute, End: 90*time.Minute + 10*time.Second + time.Millisecond,
			Keyframe: audiosearch.Keyframe{ImageID: "v@1", At: 40 * time.Millisecond}, Score: 65534.0 / 65535, Moderation: &score,
		},
		{VideoID: "a", Moderation: &zero},
		{VideoID: "v\u00e9", Start: time.Millisecond, Score: 1.0 / 65535},
	})
}

// withVideos gives each result what its video has.
func withVideos(videos []audiosearch.Video, results []audiosearch.Result) []audiosearch.Result {
	for i := range results {
		for _, v := range videos {
			if v.ID == results[i].VideoID {
				results[i].Path, results[i].Metadata = v.Path, v.Metadata
			}
		}
	}
	return results
}

// videosOf returns the videos of results.
func videosOf(results []audiosearch.Result) []audiosearch.Video {
	var videos []audiosearch.Video
	for _, r := range results {
		if !slices.ContainsFunc(videos, func(v audiosearch.Video) bool { return v.ID == r.VideoID }) {
			videos = append(videos, audiosearch.Video{ID: r.VideoID, Path: r.Path, Metadata: r.Metadata})
		}
	}
	return videos
}

// manyRuns is more than any rule makes.
const manyRuns = 1000

// createRun stores a run that must be new, and returns it. If it has results, they are
// put into a set, which it names.
func (s *subject) createRun(t *testing.T, r audiosearch.Run) audiosearch.Run {
	t.Helper()
	if r.Results == nil {
		require.NoError(t, s.Runs.CreateRun(t.Context(), r.Clone(), manyRuns))
		return r
	}
	open := r.Clone()
	open.State, open.Results = audiosearch.StateRunning, nil
	require.NoError(t, s.Runs.CreateRun(t.Context(), open, manyRuns))
	r.ResultSet = s.putSet(t, r, r.Results)
	s.updateRun(t, r, func(stored *audiosearch.Run) { *stored = r.Clone() })
	return r
}

// putSet puts results with their videos into a new set of a run that has not ended.
func (s *subject) putSet(t *testing.T, r audiosearch.Run, results []audiosearch.Result) uuid.UUID {
	t.Helper()
	set := uuid.New()
	own := cloneResults(results)
	require.NoError(t, s.Results.PutResultVideos(t.Context(), r.Organization, r.ID, set, videosOf(own)))
	require.NoError(t, s.Results.PutResults(t.Context(), r.Organization, r.ID, set, own))
	return set
}

// name makes a run name a set.
func (s *subject) name(t *testing.T, r audiosearch.Run, set uuid.UUID) {
	t.Helper()
	s.updateRun(t, r, func(r *audiosearch.Run) { r.ResultSet = set })
}

// run reads a run that must be there.
func (s *subject) run(t *testing.T, of audiosearch.Run) audiosearch.Run {
	t.Helper()
	r, err := s.Runs.Run(t.Context(), of.Organization, of.ID)
	require.NoError(t, err, "Run %d", of.ID)
	return r
}

// hasRun requires that a run is there as it is.
func (s *subject) hasRun(t *testing.T, want audiosearch.Run) {
	t.Helper()
	sameRun(t, want, s.run(t, want))
}

// results reads the results of a run that must be there, page by page.
func (s *subject) results(t *testing.T, of audiosearch.Run) []audiosearch.Result {
	t.Helper()
	var results []audiosearch.Result
	for {
		page, err := s.Results.RunResults(t.Context(), of.Organization, of.ID, len(results))
		require.NoError(t, err, "RunResults of %d from %d", of.ID, len(results))
		if len(page) == 0 {
			return results
		}
		results = append(results, page...)
	}
}

// updateRun changes a run that must be there.
func (s *subject) updateRun(t *testing.T, r audiosearch.Run, change func(*audiosearch.Run)) {
	t.Helper()
	require.NoError(t, s.Runs.UpdateRun(t.Context(), r.Organization, r.ID, func(r *audiosearch.Run) error {
		change(r)
		return nil
	}))
}

// sameRun compares all fields but Results, which got must not have. Times must be the
// same instant, and in UTC. What has no entries is none.
func sameRun(t *testing.T, want, got audiosearch.Run) {
	t.Helper()
	require.Nil(t, got.Results, "results that were not asked for")
	want, got = want.Clone(), got.Clone()
	want.Results = nil
	conformance.SameTime(t, "CreatedAt", want.CreatedAt, &got.CreatedAt)
	conformance.SameTime(t, "UpdatedAt", want.UpdatedAt, &got.UpdatedAt)
	conformance.SameTime(t, "StartedAt", want.StartedAt, &got.StartedAt)
	conformance.SameTime(t, "FinishedAt", want.FinishedAt, &got.FinishedAt)
	conformance.SameTime(t, "DueAt", want.DueAt, &got.DueAt)
	conformance.SameTime(t, "WakeAt", want.WakeAt, &got.WakeAt)
	if len(want.Trace) == 0 && len(got.Trace) == 0 {
		want.Trace, got.Trace = nil, nil
	}
	if len(want.Query.Filters) == 0 && len(got.Query.Filters) == 0 {
		want.Query.Filters, got.Query.Filters = nil, nil
	}
	conformance.Same(t, want, got)
}

// sameResults compares all fields. Metadata without entries is none.
func sameResults(t *testing.T, want, got []audiosearch.Result) {
	t.Helper()
	require.Len(t, got, len(want))
	want, got = cloneResults(want), cloneResults(got)
	for i := range want {
		if len(want[i].Metadata) == 0 && len(got[i].Metadata) == 0 {
			want[i].Metadata, got[i].Metadata = nil, nil
		}
		conformance.Same(t, want[i], got[i])
	}
}

// spoilRun changes everything in a run that a shallow copy shares.
func spoilRun(r *audiosearch.Run) {
	for i := range r.Query.Filters {
		r.Query.Filters[i] = metadata.Filter{Key: "spoiled"}
	}
	for k := range r.Trace {
		r.Trace[k] = "spoiled"
	}
	if r.Trace != nil {
		r.Trace["spoiled"] = "yes"
	}
	spoilResults(r.Results)
}

func spoilResults(results []audiosearch.Result) {
	for i := range results {
		if results[i].Moderation != nil {
			*results[i].Moderation = 99
		}
		if results[i].Metadata != nil {
			results[i].Metadata["spoiled"] = metadata.Bool(true)
		}
		results[i].VideoID = "spoiled"
	}
}
