package audiosearch_test

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/storage/leases"
	"github.com/seed-6363c74e/mortise/storage/memory"
)

// The rig's model hears two classes: how loud a segment is, and how quiet.
const (
	loud  sound.Class = "Loud"
	quiet sound.Class = "Quiet"
	org               = "acme"
)

// volume is a Scorer over 1000 Hz, windows of 2 s and hops of 1 s: the loudest sample
// says how loud a segment is.
type volume struct {
	id    atomic.Pointer[string]
	calls atomic.Int64
	clips atomic.Int64                                    // that were scored
	hook  atomic.Pointer[func(ctx context.Context) error] // called before each batch
}

func (v *volume) Model(context.Context) (sound.Model, error) {
	id := "volume/1"
	if other := v.id.Load(); other != nil {
		id = *other
	}
	return sound.Model{ID: id, Family: "volume", SampleRate: 1000, Window: 2 * time.Second, Hop: time.Second, Classes: []sound.Class{loud, quiet}, Batch: 3}, nil
}

func (v *volume) Score(ctx context.Context, clips [][]float32) ([]sound.Scores, error) {
	v.calls.Add(1)
	if hook := v.hook.Load(); hook != nil {
		if err := (*hook)(ctx); err != nil {
			return nil, err
		}
	}
	v.clips.Add(int64(len(clips)))
	rows := make([]sound.Scores, len(clips))
	for i, clip := range clips {
		var most float32
		for _, x := range clip {
			most = max(most, x)
		}
		rows[i] = sound.Scores{most, 1 - most}
	}
	return rows, nil
}

// bytesMedia reads each byte of a file as a sample: 255 is 1. A file that begins with
// "BAD" is bad, one that begins with "VID" has a keyframe every 1700 ms, one that begins
// with "HUH" is of another format, and one that begins with "CUT" is not complete.
type bytesMedia struct {
	id    string                                          // "": "bytes/1"
	start time.Duration                                   // of the clock of each file
	hook  atomic.Pointer[func(ctx context.Context) error] // called before each block
}

var (
	errBadFile = sound.BadMedia(errors.New("the file is broken: make it again"))
	errCutFile = sound.Incomplete(errors.New("the file is cut: copy it again"))
)

func (m *bytesMedia) read(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	switch {
	case err != nil:
		return nil, err
	case len(b) >= 3 && string(b[:3]) == "BAD":
		return nil, errBadFile
	case len(b) >= 3 && string(b[:3]) == "HUH":
		return nil, sound.ErrFormat
	}
	return b, nil
}

func (m *bytesMedia) ID() string { return cmp.Or(m.id, "bytes/1") }

func (m *bytesMedia) Probe(_ context.Context, path string) (sound.Info, error) {
	b, err := m.read(path)
	if err != nil {
		return sound.Info{}, err
	}
	info := sound.Info{Duration: time.Duration(len(b)) * time.Millisecond, Start: m.start}
	if len(b) >= 3 && string(b[:3]) == "VID" {
		info.HasVideo = true
		for at := time.Duration(0); at < info.Duration; at += 1700 * time.Millisecond {
			info.Keyframes = append(info.Keyframes, at)
		}
	}
	return info, nil
}

func (m *bytesMedia) PCM(ctx context.Context, path string, rate int) iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		b, err := m.read(path)
		if err != nil {
			yield(nil, err)
			return
		}
		cut := len(b) >= 3 && string(b[:3]) == "CUT"
		const size = 700
		block := make([]float32, 0, size)
		for len(b) > 0 {
			if hook := m.hook.Load(); hook != nil {
				if err := (*hook)(ctx); err != nil {
					yield(nil, err)
					return
				}
			}
			n := min(size, len(b))
			block = block[:0]
			for _, x := range b[:n] {
				block = append(block, float32(x)/255)
			}
			b = b[n:]
			if !yield(block, nil) {
				return
			}
		}
		if cut {
			yield(nil, errCutFile)
		}
	}
}

// rig is a service over a folder of files.
type rig struct {
	t      *testing.T
	dir    string
	db     *memory.DB
	scorer *volume
	media  *bytesMedia
	*audiosearch.Service
	worker  *audiosearch.Worker
	sweeper *audiosearch.Sweeper

	mu     sync.Mutex
	events []mortise.Observation
}

// newRig returns a rig with an empty dataset "d". change may be nil.
func newRig(t *testing.T, change func(*audiosearch.Options, *audiosearch.WorkerOptions)) *rig {
	t.Helper()
	db, err := memory.Open(t.Context(), nil)
	require.NoError(t, err)
	return newRigOn(t, db, db.AudioSearch().Store, change)
}

func newRigOn(t *testing.T, db *memory.DB, store audiosearch.Store, change func(*audiosearch.Options, *audiosearch.WorkerOptions)) *rig {
	t.Helper()
	queue := db.Queue(&leases.Options{Logger: slog.New(slog.DiscardHandler)})
	return newRigOver(t, db, store, queue, change)
}

func newRigOver(t *testing.T, db *memory.DB, store audiosearch.Store, queue mortise.Queue,
	change func(*audiosearch.Options, *audiosearch.WorkerOptions),
) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), db: db, scorer: new(volume), media: new(bytesMedia)}
	folder, err := folder.Open(r.dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, folder.Close()) })
	logger := slog.New(slog.DiscardHandler)
	opts := &audiosearch.Options{Scorers: []sound.Scorer{r.scorer}, Media: r.media, Files: folder, Env: mortise.Env{Logger: logger, Observer: r.observe}}
	working := &audiosearch.WorkerOptions{Backoff: func(int) time.Duration { return 0 }, Watch: 10 * time.Millisecond}
	if change != nil {
		change(opts, working)
	}
	r.Service, err = audiosearch.New(audiosearch.Backend{Store: store, Queue: queue}, opts)
	require.NoError(t, err)
	r.worker, err = audiosearch.NewWorker(r.Service, working)
	require.NoError(t, err)
	r.sweeper, err = audiosearch.NewSweeper(r.Service, &working.Sweep)
	require.NoError(t, err)
	_, err = r.CreateDataset(t.Context(), org, "", "d")
	require.NoError(t, err)
	return r
}

func (r *rig) observe(_ context.Context, o mortise.Observation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, o)
}

// kinds returns how often each kind of event was seen.
func (r *rig) kinds() map[mortise.Kind]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	kinds := make(map[mortise.Kind]int)
	for _, o := range r.events {
		kinds[o.Kind]++
	}
	return kinds
}

// video writes a file of so many milliseconds, with a peak at some of them, and puts it
// into the catalog.
func (r *rig) video(id string, length int, peaks map[int]byte, metadata metadata.Map) {
	r.t.Helper()
	b := make([]byte, length)
	for at, height := range peaks {
		b[at] = height
	}
	r.file(id, b, metadata)
}

func (r *rig) file(id string, content []byte, metadata metadata.Map) {
	r.t.Helper()
	require.NoError(r.t, os.WriteFile(filepath.Join(r.dir, id), content, 0o600))
	require.NoError(r.t, r.PutVideos(r.t.Context(), org, "", "d", audiosearch.Video{ID: id, Path: id, Metadata: metadata}))
}

// drain carries out the runs that are due, at most so many attempts.
func (r *rig) drain(most int) {
	r.t.Helper()
	for range most {
		more, err := r.worker.RunOnce(r.t.Context())
		require.NoError(r.t, err)
		if !more {
			return
		}
	}
}

func (r *rig) start(q audiosearch.Query) int64 {
	r.t.Helper()
	q.Dataset = "d"
	run, err := r.Start(r.t.Context(), org, "ada", q)
	require.NoError(r.t, err)
	return run.ID
}

func (r *rig) results(id int64) audiosearch.Run {
	r.t.Helper()
	run, err := r.Results(r.t.Context(), org, "d", id)
	require.NoError(r.t, err)
	return run
}

// models returns the models that the dataset knows, and which are current.
func (r *rig) models() map[string]bool {
	r.t.Helper()
	found, err := r.Models(r.t.Context(), org, "d")
	require.NoError(r.t, err)
	current := make(map[string]bool)
	for _, m := range found {
		current[m.ID] = m.Current
	}
	return current
}

// search starts a search, carries it out and returns the run.
func (r *rig) search(q audiosearch.Query) audiosearch.Run {
	r.t.Helper()
	id := r.start(q)
	r.drain(10)
	return r.results(id)
}
