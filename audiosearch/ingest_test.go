package audiosearch_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
)

func (r *rig) ingest() audiosearch.Ingested {
	r.t.Helper()
	in, err := r.Ingest(r.t.Context(), org, "", "d")
	require.NoError(r.t, err)
	return in
}

// TestIngestOnce: a file is scored once, and again if its content changes, and only then.
func TestIngestOnce(t *testing.T) {
	r := newRig(t, nil)
	r.video("a", 3000, map[int]byte{2900: 255}, nil)
	r.video("b", 3000, nil, nil)
	assert.Equal(t, audiosearch.Ingested{Scored: 2}, r.ingest())
	assert.Equal(t, audiosearch.Ingested{Unchanged: 2}, r.ingest())
	touched := time.Now().Add(time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(r.dir, "a"), touched, touched))
	assert.Equal(t, audiosearch.Ingested{Unchanged: 2}, r.ingest(), "another time, the same content")

	before := r.search(audiosearch.Query{Class: loud}).Results
	require.Len(t, before, 4)
	r.video("a", 5000, map[int]byte{4900: 128}, nil)
	assert.Equal(t, before, r.search(audiosearch.Query{Class: loud}).Results, "the old scores serve until the file is looked at")
	assert.Equal(t, audiosearch.Ingested{Scored: 1, Unchanged: 1}, r.ingest())
	after := r.search(audiosearch.Query{Class: loud}).Results
	require.Len(t, after, 6)
	assert.InDelta(t, 128.0/255, after[0].Score, 1e-5)
	scoring, err := r.Scoring(t.Context(), org, "d", "a")
	require.NoError(t, err)
	assert.Equal(t, []any{5 * time.Second, 4}, []any{scoring.Duration, scoring.Windows})
}

// TestAnotherMedia: scores of a media of another ID serve until the video is scored again,
// which the next search does once; a file that could not be read is tried again.
func TestAnotherMedia(t *testing.T) {
	r := newRig(t, nil)
	r.video("a", 3000, map[int]byte{2900: 255}, nil)
	r.file("b", []byte("BAD"), nil)
	before := r.search(audiosearch.Query{Class: loud})
	require.Len(t, before.Results, 2)
	old := r.scorer.clips.Load()

	files, err := folder.Open(r.dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	db := r.db.AudioSearch()
	db.Queue = r.db.Queue(nil)
	serve := func(media sound.Media) *audiosearch.Service {
		s, err := audiosearch.New(db, &audiosearch.Options{Scorers: []sound.Scorer{r.scorer}, Media: media, Files: files})
		require.NoError(t, err)
		return s
	}
	newer := &bytesMedia{id: "bytes/2", start: 7 * time.Second}
	s := serve(newer)
	stored, err := s.Scoring(t.Context(), org, "d", "a")
	require.NoError(t, err)
	assert.Equal(t, "bytes/1", stored.Media)
	found, err := serve(nil).Search(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: loud})
	require.NoError(t, err)
	assert.Equal(t, before.Results, found.Results, "a service without media answers by the old scores")
	require.NoError(t, os.Rename(filepath.Join(r.dir, "a"), filepath.Join(r.dir, "away")))
	found, err = s.Search(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: loud})
	require.NoError(t, err)
	assert.Equal(t, before.Results, found.Results, "the old scores serve while the file is away")
	require.Len(t, found.Problems, 1, "of the broken file alone")
	assert.Equal(t, "b", found.Problems[0].Video)
	require.NoError(t, os.Rename(filepath.Join(r.dir, "away"), filepath.Join(r.dir, "a")))
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "b"), make([]byte, 2000), 0o600))
	for range 2 {
		found, err := s.Search(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: loud})
		require.NoError(t, err)
		require.Len(t, found.Results, 3)
		assert.Empty(t, found.Problems)
		assert.Equal(t, 7*time.Second, found.Results[0].VideoStart)
	}
	assert.Equal(t, old+3, r.scorer.clips.Load(), "each segment was scored once")
	in, err := s.Ingest(t.Context(), org, "", "d")
	require.NoError(t, err)
	assert.Equal(t, audiosearch.Ingested{Unchanged: 2}, in)

	_, err = audiosearch.New(db, &audiosearch.Options{Media: &bytesMedia{id: strings.Repeat("x", 256)}, Files: files})
	assert.ErrorContains(t, err, "the ID of Options.Media")
}

// TestMovedVideo: a video whose path changes has no scores any more.
func TestMovedVideo(t *testing.T) {
	r := newRig(t, nil)
	r.video("a", 3000, nil, nil)
	r.video("b", 9000, nil, nil)
	r.ingest()
	require.NoError(t, r.PutVideos(t.Context(), org, "", "d", audiosearch.Video{ID: "a", Path: "a", Metadata: metadata.Map{"x": metadata.Int(1)}}))
	_, err := r.Scoring(t.Context(), org, "d", "a")
	require.NoError(t, err, "other metadata leave the scores alone")
	require.NoError(t, r.PutVideos(t.Context(), org, "", "d", audiosearch.Video{ID: "a", Path: "b"}))
	_, err = r.Scoring(t.Context(), org, "d", "a")
	require.ErrorIs(t, err, audiosearch.ErrNotScored)
	assert.Len(t, r.search(audiosearch.Query{Class: loud}).Results, 16)
}

// TestBadFiles: each is named with what to do, the others are searched, and no attempt is
// lost.
func TestBadFiles(t *testing.T) {
	r := newRig(t, nil)
	r.video("good", 3000, nil, nil)
	r.file("bad", []byte("BAD"), nil)
	r.file("huh", []byte("HUH"), nil)
	r.file("empty", nil, nil)
	require.NoError(t, os.Mkdir(filepath.Join(r.dir, "folder"), 0o700))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(r.dir, "link")))
	require.NoError(t, r.PutVideos(t.Context(), org, "", "d", audiosearch.Video{ID: "folder", Path: "folder"}, audiosearch.Video{ID: "link", Path: "link"},
		audiosearch.Video{ID: "gone", Path: "gone"}, audiosearch.Video{ID: "up", Path: "../up"}, audiosearch.Video{ID: "root", Path: "/etc/passwd"}))
	for range 2 { // the second time from memory, as far as the file is to blame
		run := r.search(audiosearch.Query{Class: loud})
		assert.Equal(t, audiosearch.Success, run.Termination)
		assert.Len(t, run.Results, 2)
		assert.Equal(t, `8 of 9 videos could not be searched. "bad": the file is broken: make it again. "empty": the file has no sound: leave it out, or give it a sound track. `+
			`"folder": the path does not name a plain file: correct it in the catalog. "gone": there is no such file: put it there, or correct the path in the catalog. `+
			`"huh": no files of this kind are read here: convert it. "link": the path leads out of the folder of the videos: correct it in the catalog. `+
			`"root": the path leads out of the folder of the videos: correct it in the catalog. "up": the path leads out of the folder of the videos: correct it in the catalog.`, run.Message)
		assert.NotContains(t, run.Message, r.dir)
	}
	scoring, err := r.Scoring(t.Context(), org, "d", "bad")
	require.NoError(t, err)
	assert.Equal(t, "the file is broken: make it again", scoring.Problem)
	_, err = r.Scoring(t.Context(), org, "d", "huh")
	require.ErrorIs(t, err, audiosearch.ErrNotScored, "the next program may be able to read it")

	r.video("bad", 3000, nil, nil)
	assert.Equal(t, 1, r.ingest().Scored, "a file that was mended")
	assert.Len(t, r.search(audiosearch.Query{Class: loud}).Results, 4)
}

// TestManyBadFiles: the message stays readable.
func TestManyBadFiles(t *testing.T) {
	r := newRig(t, nil)
	for i := range 100 {
		r.file(string(rune('A'+i%26))+strings.Repeat("x", i), []byte("BAD"), nil)
	}
	run := r.search(audiosearch.Query{Class: loud})
	assert.Equal(t, audiosearch.Success, run.Termination)
	assert.True(t, strings.HasSuffix(run.Message, "And 90 more."), run.Message)
	assert.Less(t, len(run.Message), 10*(300+100))
}

// TestFileChangesDuringIngestion: it is read again, and given up if it does not settle.
func TestFileChangesDuringIngestion(t *testing.T) {
	for name, changes := range map[string]int{"once": 1, "always": 1000} {
		r := newRig(t, nil)
		r.video("a", 3000, nil, nil)
		path, n := filepath.Join(r.dir, "a"), 0
		hook := func(context.Context) error {
			if n++; n <= changes {
				return os.WriteFile(path, make([]byte, 3000+n), 0o600)
			}
			return nil
		}
		r.media.hook.Store(&hook)
		in := r.ingest()
		if name == "once" {
			assert.Equal(t, audiosearch.Ingested{Scored: 1}, in)
			scoring, err := r.Scoring(t.Context(), org, "d", "a")
			require.NoError(t, err)
			assert.Equal(t, 3001*time.Millisecond, scoring.Duration)
		} else {
			assert.Equal(t, []audiosearch.VideoProblem{{Video: "a", Message: "the file was changed while it was being read: search again when it is complete"}}, in.Problems)
			_, err := r.Scoring(t.Context(), org, "d", "a")
			require.ErrorIs(t, err, audiosearch.ErrNotScored)
		}
	}
}

// TestVideoChangesDuringIngestion: scores of what is not in the catalog any more are not
// stored.
func TestVideoChangesDuringIngestion(t *testing.T) {
	r := newRig(t, nil)
	r.video("a", 3000, nil, nil)
	hook := func(ctx context.Context) error {
		if err := r.DeleteVideo(ctx, org, "", "d", "a"); !errors.Is(err, audiosearch.ErrVideoNotFound) {
			return err
		}
		return nil
	}
	r.media.hook.Store(&hook)
	run := r.search(audiosearch.Query{Class: loud})
	assert.Equal(t, []any{audiosearch.Success, ""}, []any{run.Termination, run.Message})
	assert.Empty(t, run.Results)
}

func TestTooLong(t *testing.T) {
	r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) { o.MaxDuration = 2500 * time.Millisecond })
	r.video("a", 2600, nil, nil)
	assert.Equal(t, []audiosearch.VideoProblem{{Video: "a", Message: "it is longer than 2.5s, which is the limit here: cut it into parts"}}, r.ingest().Problems)
}

// TestWithoutMedia: a service that scores nothing finds what others scored.
func TestWithoutMedia(t *testing.T) {
	r := newRig(t, nil)
	r.video("a", 3000, nil, nil)
	r.ingest()
	r.video("b", 3000, nil, nil)
	s, err := audiosearch.New(r.db.AudioSearch(), &audiosearch.Options{Scorers: []sound.Scorer{r.scorer}})
	require.NoError(t, err)
	found, err := s.Search(t.Context(), org, "", audiosearch.Query{Dataset: "d", Class: loud})
	require.NoError(t, err)
	assert.Len(t, found.Results, 2)
	assert.Equal(t, []audiosearch.VideoProblem{{Video: "b", Message: "it is not scored yet, and this service scores none: have it scored by one that does"}}, found.Problems)
	_, err = audiosearch.New(r.db.AudioSearch(), &audiosearch.Options{Scorers: []sound.Scorer{r.scorer}, Media: r.media})
	require.Error(t, err, "Media without Files")
}

// TestTop: the best of all segments that touch the stretch.
func TestTop(t *testing.T) {
	r := newRig(t, nil)
	r.video("a", 6500, map[int]byte{2500: 51, 4500: 204}, nil)
	_, err := r.Top(t.Context(), org, "d", "a", 0, time.Second, 2)
	require.ErrorIs(t, err, audiosearch.ErrNotScored)
	r.ingest()
	for _, test := range []struct {
		from, to    time.Duration // ms
		loud, quiet float64
	}{
		{0, 1, 0, 1}, {0, 1000, 0, 1}, {0, 1001, 0.2, 1}, {1999, 2000, 0.2, 1}, {2000, 3000, 0.2, 0.8}, {3000, 3001, 0.8, 0.8}, {3500, 6500, 0.8, 1},
		{5000, 6500, 0.8, 1}, {6001, 9999, 0, 1}, {0, 99999, 0.8, 1},
	} {
		heard, err := r.Top(t.Context(), org, "d", "a", test.from*time.Millisecond, test.to*time.Millisecond, 5)
		require.NoError(t, err)
		scores := map[sound.Class]float64{}
		for _, h := range heard {
			scores[h.Class] = h.Score
		}
		assert.InDelta(t, test.loud, scores[loud], 1e-4, "%d to %d", test.from, test.to)
		assert.InDelta(t, test.quiet, scores[quiet], 1e-4, "%d to %d", test.from, test.to)
		assert.GreaterOrEqual(t, heard[0].Score, heard[1].Score)
	}
	heard, err := r.Top(t.Context(), org, "d", "a", time.Hour, 2*time.Hour, 1)
	require.NoError(t, err)
	assert.Equal(t, []audiosearch.TopClass{{Class: loud}}, heard, "nothing is heard behind the end")
	for _, bad := range [][3]int{{0, 0, 1}, {-1, 1, 1}, {2, 1, 1}, {0, 1, 0}, {0, 1, sound.MaxClasses + 1}} {
		_, err := r.Top(t.Context(), org, "d", "a", time.Duration(bad[0]), time.Duration(bad[1]), bad[2])
		var invalid *mortise.ValidationError
		require.ErrorAs(t, err, &invalid)
	}
}

// moderator scores each result by its own score.
type moderator struct {
	err   error
	short bool
}

func (m moderator) Moderate(_ context.Context, _ string, results []audiosearch.Result) ([]float64, error) {
	if m.short {
		return nil, nil
	}
	scores := make([]float64, len(results))
	for i, r := range results {
		scores[i] = 1 - r.Score
	}
	return scores, m.err
}

func TestModeration(t *testing.T) {
	for name, test := range map[string]struct {
		moderate moderate
		skip     bool
		want     bool
	}{
		"none": {}, "asked": {moderator{}.Moderate, false, true}, "skipped": {moderator{}.Moderate, true, false},
		"failed": {moderator{err: errors.New("broken")}.Moderate, false, false}, "short": {moderator{short: true}.Moderate, false, false},
	} {
		r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) { o.Moderate = test.moderate })
		r.video("a", 3000, map[int]byte{100: 51}, nil)
		run := r.search(audiosearch.Query{Class: loud, SkipModeration: test.skip})
		require.Len(t, run.Results, 2, name)
		for _, result := range run.Results {
			assert.Equal(t, test.want, result.Moderation != nil, name)
			if test.want {
				assert.InDelta(t, 1-result.Score, *result.Moderation, 1e-9)
			}
		}
	}
}

// TestVideosAreChecked: what cannot be stored everywhere is refused, all or none.
func TestVideosAreChecked(t *testing.T) {
	r := newRig(t, nil)
	long := strings.Repeat("x", 300)
	many := metadata.Map{}
	for i := range 1001 {
		many[strings.Repeat("k", i+1)] = metadata.Scalar{}
	}
	for name, v := range map[string]audiosearch.Video{
		"no id": {Path: "p"}, "long id": {ID: long, Path: "p"}, "nul id": {ID: "a\x00", Path: "p"}, "no path": {ID: "a"}, "nul path": {ID: "a", Path: "a\x00"},
		"bad path": {ID: "a", Path: "\xff"}, "long path": {ID: "a", Path: strings.Repeat("p", 5000)}, "empty key": {ID: "a", Path: "p", Metadata: metadata.Map{"": {}}},
		"bad value": {ID: "a", Path: "p", Metadata: metadata.Map{"k": metadata.String("\xff")}}, "many": {ID: "a", Path: "p", Metadata: many},
		"big": {ID: "a", Path: "p", Metadata: metadata.Map{"k": metadata.String(strings.Repeat("x", 70_000))}},
	} {
		var invalid *mortise.ValidationError
		require.ErrorAs(t, r.PutVideos(t.Context(), org, "", "d", audiosearch.Video{ID: "good", Path: "p"}, v), &invalid, name)
	}
	require.Error(t, r.PutVideos(t.Context(), org, "", "d", audiosearch.Video{ID: "a", Path: "p"}, audiosearch.Video{ID: "a", Path: "q"}))
	for range r.Videos(t.Context(), org, "d") {
		t.Error("something was stored")
	}
	require.NoError(t, r.PutVideos(t.Context(), org, "", "d", audiosearch.Video{ID: "a", Path: strings.Repeat("p", 400)}))
	_, err := r.CreateDataset(t.Context(), org, "", "")
	require.Error(t, err)
	_, err = r.CreateDataset(t.Context(), org, "", "d")
	require.ErrorIs(t, err, mortise.ErrExists)
}

// TestMemoryIsFlat: an hour takes no more memory than a minute, but for its scores.
func TestMemoryIsFlat(t *testing.T) {
	media := wav.Media{}
	var peak [2]uint64
	for i, length := range []time.Duration{time.Minute, time.Hour} {
		r := newRig(t, func(o *audiosearch.Options, _ *audiosearch.WorkerOptions) { o.Media = media })
		var header bytes.Buffer
		require.NoError(t, wav.Encode(&header, 8000, make([]float32, 1)))
		size := int64(length/time.Second) * 8000 * 2
		content := header.Bytes()[:44]
		binary.LittleEndian.PutUint32(content[4:], uint32(36+size))
		binary.LittleEndian.PutUint32(content[40:], uint32(size))
		r.file("a", content, nil)
		require.NoError(t, os.Truncate(filepath.Join(r.dir, "a"), 44+size))
		hook := func(context.Context) error {
			if r.scorer.calls.Load()%20 != 1 {
				return nil
			}
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak[i] = max(peak[i], m.HeapAlloc)
			return nil
		}
		r.scorer.hook.Store(&hook)
		require.Equal(t, audiosearch.Ingested{Scored: 1}, r.ingest())
		scoring, err := r.Scoring(t.Context(), org, "d", "a")
		require.NoError(t, err)
		require.Equal(t, length, scoring.Duration)
	}
	assert.Less(t, peak[1], peak[0]+1<<20, "bytes of the heap")
}
