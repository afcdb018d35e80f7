package audiosearch_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// cutVideo writes a file that is not complete, of so many milliseconds, all of them quiet
// but for the first.
func (r *rig) cutVideo(id string, length int) {
	r.t.Helper()
	r.file(id, append([]byte("CUT"), bytes.Repeat([]byte{51}, length-3)...), nil)
}

// TestIncompleteFile: what is there of a file that was cut is searched, and each search
// says that it is not all, until the file is whole.
func TestIncompleteFile(t *testing.T) {
	r := newRig(t, nil)
	r.video("a", 3000, map[int]byte{100: 102}, nil)
	r.cutVideo("b", 2500)
	problem := audiosearch.VideoProblem{Video: "b", Message: "the file is cut: copy it again", Partly: true}
	const message = `1 of 2 videos could be searched in part only. "b": the file is cut: copy it again.`

	run := r.search(audiosearch.Query{Class: loud})
	assert.Equal(t, []any{audiosearch.Success, message}, []any{run.Termination, run.Message})
	require.Len(t, run.Results, 4)
	assert.Equal(t, 2, r.kinds()[mortise.KindIngested])
	calls := r.scorer.calls.Load()

	run = r.search(audiosearch.Query{Class: loud, Limit: 1})
	assert.Equal(t, []any{audiosearch.Success, message}, []any{run.Termination, run.Message}, "said again")
	found, err := r.Search(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: quiet})
	require.NoError(t, err)
	assert.Equal(t, []audiosearch.VideoProblem{problem}, found.Problems)
	assert.Equal(t, audiosearch.Ingested{Unchanged: 2, Problems: []audiosearch.VideoProblem{problem}}, r.ingest())
	assert.Equal(t, calls, r.scorer.calls.Load(), "and not scored again")
	assert.Zero(t, r.kinds()[mortise.KindNotIngested])
	heard, err := r.Top(t.Context(), org, "d", "b", 0, time.Second, 1)
	require.NoError(t, err)
	assert.Equal(t, quiet, heard[0].Class)

	// A file that is whole is noticed by the next search.
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "b"), make([]byte, 9000), 0o600))
	run = r.search(audiosearch.Query{Class: quiet})
	assert.Equal(t, []any{audiosearch.Success, ""}, []any{run.Termination, run.Message})
	assert.Len(t, run.Results, 10)

	// So is one that is no use at all.
	r.cutVideo("b", 2500)
	assert.Equal(t, audiosearch.Ingested{Scored: 1, Unchanged: 1, Problems: []audiosearch.VideoProblem{problem}}, r.ingest())
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "b"), []byte("BAD"), 0o600))
	run = r.search(audiosearch.Query{Class: loud})
	assert.Equal(t, `1 of 2 videos could not be searched. "b": the file is broken: make it again.`, run.Message)
	assert.Len(t, run.Results, 2)
	assert.Equal(t, 1, r.kinds()[mortise.KindNotIngested])
}

// TestProblemsOfBothKinds: the message counts files that are broken and files that are
// cut.
func TestProblemsOfBothKinds(t *testing.T) {
	r := newRig(t, nil)
	r.cutVideo("cut", 2500)
	r.file("bad", []byte("BAD"), nil)
	r.video("good", 2500, nil, nil)
	run := r.search(audiosearch.Query{Class: loud})
	assert.Equal(t, `1 of 3 videos could not be searched. 1 of 3 videos could be searched in part only. `+
		`"bad": the file is broken: make it again. "cut": the file is cut: copy it again.`, run.Message)
}

// TestIncompleteWithoutMedia: a service that scores nothing passes on what another one
// noted.
func TestIncompleteWithoutMedia(t *testing.T) {
	r := newRig(t, nil)
	r.cutVideo("cut", 2500)
	r.file("bad", []byte("BAD"), nil)
	r.ingest()
	s, err := audiosearch.New(r.db.AudioSearch(), &audiosearch.Options{Scorers: []sound.Scorer{r.scorer}})
	require.NoError(t, err)
	found, err := s.Search(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: loud})
	require.NoError(t, err)
	assert.Len(t, found.Results, 2)
	assert.Equal(t, []audiosearch.VideoProblem{
		{Video: "bad", Message: "the file is broken: make it again"}, {Video: "cut", Message: "the file is cut: copy it again", Partly: true},
	}, found.Problems)
}

// TestIncompleteFromTheStart: a file of which nothing is there has no scores.
func TestIncompleteFromTheStart(t *testing.T) {
	r := newRig(t, nil)
	r.video("a", 3000, nil, nil)
	hook := func(context.Context) error { return errCutFile }
	r.media.hook.Store(&hook)
	assert.Equal(t, audiosearch.Ingested{Problems: []audiosearch.VideoProblem{{Video: "a", Message: "the file is cut: copy it again"}}}, r.ingest())
	_, err := r.Top(t.Context(), org, "d", "a", 0, time.Second, 1)
	require.ErrorIs(t, err, audiosearch.ErrNotScored)
}
