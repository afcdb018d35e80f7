package audiosearch_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// onePointNought is written so, and stays so.
func onePointNought(t *testing.T) (n metadata.Scalar) {
	require.NoError(t, n.UnmarshalJSON([]byte("1.0")))
	return n
}

// TestRunFromRequestToResults: what a search returns, in every field.
func TestRunFromRequestToResults(t *testing.T) {
	r := newRig(t, nil)
	r.video("b", 4500, map[int]byte{3100: 204}, metadata.Map{"show": metadata.String("news"), "n": onePointNought(t)})
	r.file("v", append([]byte("VID"), make([]byte, 2997)...), nil)
	id := r.start(audiosearch.Query{Class: loud, Limit: 6})
	run := r.results(id)
	assert.Equal(t, audiosearch.StateQueued, run.State)
	assert.Nil(t, run.Results)
	r.drain(10)

	run = r.results(id)
	assert.Equal(t, audiosearch.StateTerminated, run.State)
	assert.Equal(t, audiosearch.Success, run.Termination)
	assert.Empty(t, run.Message)
	assert.Equal(t, []int{2, 2, 1}, []int{run.Done, run.Total, run.Attempts})
	assert.False(t, run.FinishedAt.Before(run.StartedAt) || run.StartedAt.Before(run.CreatedAt))
	require.Len(t, run.Results, 6)
	peak := run.Results[0]
	assert.Equal(t, audiosearch.Result{
		VideoID: "b", Path: "b", Metadata: metadata.Map{"show": metadata.String("news"), "n": onePointNought(t)},
		Start: 2 * time.Second, End: 4 * time.Second, Keyframe: audiosearch.Keyframe{ImageID: "b@2000", At: 2 * time.Second}, Score: 0.8,
	}, peak)
	assert.Equal(t, 4500*time.Millisecond, run.Results[1].End, "the last segment ends where the sound does")
	assert.Equal(t, "v", run.Results[2].VideoID)
	assert.Equal(t, []time.Duration{0, 0}, []time.Duration{run.Results[2].Start, run.Results[2].Keyframe.At})
	assert.Equal(t, []time.Duration{1000 * time.Millisecond, 1700 * time.Millisecond}, []time.Duration{run.Results[5].Start, run.Results[5].Keyframe.At}, "the nearest")
	assert.Equal(t, map[mortise.Kind]int{
		mortise.KindDatasetCreated: 1, mortise.KindSubmitted: 1, mortise.KindStarted: 1,
		mortise.KindIngested: 2, mortise.KindIngesting: 2, mortise.KindTerminated: 1,
	}, r.kinds())
}

// TestScoredOnce: a second run, with another class and filters, asks the scorer nothing.
func TestScoredOnce(t *testing.T) {
	r := newRig(t, nil)
	r.video("a", 5000, map[int]byte{100: 255}, nil)
	r.search(audiosearch.Query{Class: loud})
	calls := r.scorer.calls.Load()
	require.Positive(t, calls)
	run := r.search(audiosearch.Query{Class: quiet})
	assert.Len(t, run.Results, 4)
	assert.Equal(t, calls, r.scorer.calls.Load())
}

// TestPagesOfARanking: they neither repeat nor skip, also among equal scores.
func TestPagesOfARanking(t *testing.T) {
	r := newRig(t, nil)
	for i := range 7 {
		r.video(fmt.Sprintf("v%d", i), 6000, map[int]byte{1000 * (i % 5): byte(51 * (i % 3))}, nil)
	}
	var all []audiosearch.Result
	for offset := 0; ; offset += 3 {
		page := r.search(audiosearch.Query{Class: loud, Limit: 3, Offset: offset}).Results
		all = append(all, page...)
		if len(page) < 3 {
			break
		}
	}
	assert.Equal(t, r.search(audiosearch.Query{Class: loud, Limit: 1000}).Results, all)
	assert.Len(t, all, 35)
	assert.Empty(t, r.search(audiosearch.Query{Class: loud, Offset: math.MaxInt}).Results)
	for i := range all[1:] {
		a, b := all[i], all[i+1]
		ordered := a.Score > b.Score || a.Score == b.Score && (a.VideoID < b.VideoID || a.VideoID == b.VideoID && a.Start < b.Start)
		assert.True(t, ordered, "%v before %v", a, b)
	}
	best := r.search(audiosearch.Query{Class: loud, MinScore: all[4].Score, Limit: 1000}).Results
	for _, result := range best {
		assert.GreaterOrEqual(t, result.Score, all[4].Score)
	}
	assert.GreaterOrEqual(t, len(best), 5)
}

// TestProblemsOfQueries: all of them, at once.
func TestProblemsOfQueries(t *testing.T) {
	r := newRig(t, nil)
	r.video("a", 2000, nil, metadata.Map{"k": metadata.Scalar{}})
	start := func(q audiosearch.Query) []mortise.Problem {
		_, err := r.Start(t.Context(), org, "", q)
		var invalid *mortise.ValidationError
		require.ErrorAs(t, err, &invalid)
		var all []mortise.Problem
		for _, p := range invalid.Problems {
			p.Message = ""
			all = append(all, p)
		}
		return all
	}
	of := func(field string, kind mortise.ProblemKind) mortise.Problem {
		return mortise.Problem{Path: mortise.Path{{Field: field}}, Kind: kind}
	}
	ofFilter := func(i int, part string, kind mortise.ProblemKind) mortise.Problem {
		return mortise.Problem{Path: mortise.Path{{Field: "metadata_filters"}, {Index: i}, {Field: part}}, Kind: kind}
	}
	assert.Equal(t, []mortise.Problem{
		of("limit", ""), of("offset", ""), of("min_score", ""),
		ofFilter(1, "value", audiosearch.ProblemNotANumber), ofFilter(2, "op", ""),
		of("audio_class", audiosearch.ProblemUnsupportedClass), ofFilter(0, "key", audiosearch.ProblemUnknownKey),
	}, start(audiosearch.Query{Dataset: "d", Class: "7", Limit: 1001, Offset: -1, MinScore: math.NaN(), Filters: []metadata.Filter{
		{Key: "nobody", Value: "1"}, {Key: "k", Value: "x", Op: ">"}, {Key: "k", Op: "~"},
	}}))
	assert.Equal(t, []mortise.Problem{of("audio_class", "")}, start(audiosearch.Query{Dataset: "d"}), "none is no sound")
	assert.Equal(t, []mortise.Problem{of("metadata_filters", "")},
		start(audiosearch.Query{Dataset: "d", Class: loud, Filters: make([]metadata.Filter, 101)}))
	for _, key := range []string{"", "\x00", "\xff"} {
		assert.Equal(t, []mortise.Problem{ofFilter(0, "key", audiosearch.ProblemUnknownKey)},
			start(audiosearch.Query{Dataset: "d", Class: loud, Filters: []metadata.Filter{{Key: key, Value: "x"}}}))
	}
	long := strings.Repeat("x", metadata.MaxFilterBytes+1)
	assert.Equal(t, []mortise.Problem{
		ofFilter(0, "value", audiosearch.ProblemTooLong), ofFilter(1, "key", audiosearch.ProblemTooLong),
		ofFilter(2, "value", audiosearch.ProblemTooLong), ofFilter(2, "op", ""),
	}, start(audiosearch.Query{Dataset: "d", Class: loud, Filters: []metadata.Filter{
		{Key: "k", Value: long, Op: ">"}, {Key: long, Value: "x"}, {Key: "k", Value: long, Op: "~"}, {Key: "k", Value: long[1:], Op: "contains"},
	}}))
	_, err := r.Start(t.Context(), org, "", audiosearch.Query{Dataset: "other", Class: loud})
	require.ErrorIs(t, err, audiosearch.ErrDatasetNotFound)
	_, err = r.Start(t.Context(), "other", "", audiosearch.Query{Dataset: "d", Class: loud})
	require.ErrorIs(t, err, audiosearch.ErrDatasetNotFound)
	_, err = r.Start(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: "quite"})
	require.ErrorContains(t, err, `did you mean "Quiet"?`)
	_, err = r.Start(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: "7"})
	assert.ErrorContains(t, err, "which knows: Loud; Quiet", "what it can find")
}

// TestWhoseRun: a run reads like none to another organization, and under another dataset.
func TestWhoseRun(t *testing.T) {
	r := newRig(t, nil)
	id := r.start(audiosearch.Query{Class: loud})
	_, err := r.CreateDataset(t.Context(), org, "", "e")
	require.NoError(t, err)
	_, err = r.CreateDataset(t.Context(), "other", "", "d")
	require.NoError(t, err)
	for _, ask := range []func(org, dataset string, id int64) error{
		func(org, dataset string, id int64) error {
			_, err := r.Run(t.Context(), org, dataset, id)
			return err
		},
		func(org, dataset string, id int64) error {
			_, err := r.Results(t.Context(), org, dataset, id)
			return err
		},
		func(org, dataset string, id int64) error {
			_, err := r.Cancel(t.Context(), org, "", dataset, id)
			return err
		},
	} {
		require.ErrorIs(t, ask(org, "e", id), audiosearch.ErrRunNotFound)
		require.ErrorIs(t, ask("other", "d", id), audiosearch.ErrRunNotFound)
		require.ErrorIs(t, ask(org, "d", id+1), audiosearch.ErrRunNotFound)
		require.ErrorIs(t, ask(org, "none", id), audiosearch.ErrDatasetNotFound)
		require.ErrorIs(t, ask("none", "d", id), audiosearch.ErrDatasetNotFound)
	}
	assert.Equal(t, audiosearch.StateQueued, r.results(id).State)
}

// taken is a source of randomness whose first three draws are the same.
type taken struct{ draws int }

func (r *taken) Read(b []byte) (int, error) {
	r.draws++
	clear(b)
	b[0] = byte(max(r.draws, 3))
	return len(b), nil
}

// TestRunIDs: of 53 bits, never 0, and another one if one is taken.
func TestRunIDs(t *testing.T) {
	r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) { o.Rand = new(taken) })
	assert.EqualValues(t, 3, r.start(audiosearch.Query{Class: loud}))
	assert.EqualValues(t, 4, r.start(audiosearch.Query{Class: loud}))
	r = newRig(t, nil)
	for range 100 {
		id := r.start(audiosearch.Query{Class: loud})
		assert.Positive(t, id)
		assert.LessOrEqual(t, id, int64(1<<53-1))
	}
}

// TestCancel: what waits ends at once, what runs ends soon, what has ended stays.
func TestCancel(t *testing.T) {
	r := newRig(t, nil)
	r.video("a", 5000, nil, nil)
	id := r.start(audiosearch.Query{Class: loud})
	run, err := r.Cancel(t.Context(), org, "ada", "d", id)
	require.NoError(t, err)
	assert.Equal(t, []any{audiosearch.StateTerminated, audiosearch.ClientError, "The run was cancelled."}, []any{run.State, run.Termination, run.Message})
	r.drain(10)
	assert.Zero(t, r.results(id).Attempts, "a worker drops it")
	_, err = r.Cancel(t.Context(), org, "ada", "d", id)
	require.ErrorIs(t, err, audiosearch.ErrFinished)

	for name, cancel := range map[string]func(id int64) error{
		"by this service": func(id int64) error { _, err := r.Cancel(t.Context(), org, "ada", "d", id); return err },
		"by another one": func(id int64) error {
			other, err := audiosearch.New(r.db.AudioSearch(), &audiosearch.Options{Scorers: []sound.Scorer{r.scorer}})
			require.NoError(t, err)
			run, err := other.Cancel(t.Context(), org, "ada", "d", id)
			assert.Equal(t, audiosearch.StateTerminating, run.State)
			return err
		},
	} {
		id := r.start(audiosearch.Query{Class: loud})
		hook := func(ctx context.Context) error {
			require.NoError(t, cancel(id))
			<-ctx.Done()
			return ctx.Err()
		}
		r.media.hook.Store(&hook)
		r.drain(10)
		run := r.results(id)
		assert.Equal(t, []any{audiosearch.StateTerminated, audiosearch.ClientError, "The run was cancelled."}, []any{run.State, run.Termination, run.Message}, name)
	}
}

// TestCancelledWhileNobodyRanIt: its worker died before it could let go.
func TestCancelledWhileNobodyRanIt(t *testing.T) {
	r := newRig(t, nil)
	id := r.start(audiosearch.Query{Class: loud})
	require.NoError(t, r.db.AudioSearch().Store.UpdateRun(t.Context(), org, id, func(run *audiosearch.Run) error {
		run.State, run.Attempts = audiosearch.StateTerminating, 1
		return nil
	}))
	r.drain(10)
	run := r.results(id)
	assert.Equal(t, []any{audiosearch.StateTerminated, audiosearch.ClientError, 1}, []any{run.State, run.Termination, run.Attempts})
}

// TestPrune: only what finished before.
func TestPrune(t *testing.T) {
	r := newRig(t, nil)
	done := r.search(audiosearch.Query{Class: loud})
	waiting := r.start(audiosearch.Query{Class: loud})
	n, err := r.Prune(t.Context(), done.FinishedAt)
	require.NoError(t, err)
	assert.Zero(t, n)
	n, err = r.Prune(t.Context(), done.FinishedAt.Add(time.Nanosecond))
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	_, err = r.Run(t.Context(), org, "d", done.ID)
	require.ErrorIs(t, err, audiosearch.ErrRunNotFound)
	assert.Equal(t, audiosearch.StateQueued, r.results(waiting).State)

	bare := newRigOn(t, r.db, struct{ audiosearch.Store }{newMemory(t).AudioSearch().Store}, nil)
	_, err = bare.Prune(t.Context(), time.Now())
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

func newMemory(t *testing.T) *memory.DB {
	t.Helper()
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	return db
}
