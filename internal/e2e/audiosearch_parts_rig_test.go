package e2e

import (
	"bufio"
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	modernc "modernc.org/sqlite"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/ffmpeg"
	"github.com/seed-6363c74e/mortise/audiosearch/folder"
	"github.com/seed-6363c74e/mortise/audiosearch/signal"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/audiosearch/wav"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
)

// A part of the package signal's model is 30 s of sound in whole batches of 8 segments.
const (
	signalBatch = 8
	signalPart  = 2 * signalBatch
)

// stages is the side of a process that scores a video as another process tells it to: at
// each stage it says where it is, and waits to be told to go on.
type stages struct {
	mu   sync.Mutex
	in   *bufio.Reader
	free bool // it does not wait
}

func (s *stages) at(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Printf(format+"\n", args...)
	if s.free {
		return
	}
	if _, err := s.in.ReadString('\n'); err != nil {
		os.Exit(1) // nobody is there any more
	}
}

// scoreVideos looks at the dataset "d" of the organization "o" in a file, once.
func scoreVideos(file string) (err error) {
	s := &stages{in: bufio.NewReader(os.Stdin)}
	// Triggers of the writer's connection, see stopWithin, stop this process within a transaction.
	stop := func(_ *modernc.FunctionContext, args []driver.Value) (driver.Value, error) {
		s.at("%v", args[0])
		return nil, nil
	}
	if err := modernc.RegisterScalarFunction("e2e_at", 1, stop); err != nil {
		return err
	}
	stops := os.Getenv("E2E_SCORE_STOPS")
	modernc.RegisterConnectionHook(func(c modernc.ExecQuerierContext, dsn string) error {
		if stops == "" || !strings.Contains(dsn, "_journal=WAL") {
			return nil
		}
		for s := range strings.SplitSeq(stops, ";") {
			trigger := fmt.Sprintf("CREATE TEMP TRIGGER \"e2e %s\" AFTER %[1]s BEGIN SELECT e2e_at('%[1]s'); END", s)
			if _, err := c.ExecContext(context.Background(), trigger, nil); err != nil {
				return err
			}
		}
		return nil
	})
	ctx := context.Background()
	db, err := sqlite.Open(ctx, file, &sqlite.Options{BusyTimeout: patience})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	folder, err := folder.Open(os.Getenv("E2E_SCORE_FOLDER"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	part, err := time.ParseDuration(os.Getenv("E2E_SCORE_PART"))
	if err != nil {
		return err
	}
	waves := wav.Media{}
	others, err := ffmpeg.New(nil)
	if err != nil {
		return err
	}
	scorer, err := signal.New(nil)
	if err != nil {
		return err
	}
	media := &stagedMedia{Media: sound.FirstMedia(waves, others)}
	store := &stagedStore{db.AudioSearch().Store, media, s}
	service, err := audiosearch.New(audiosearch.Backend{Store: store, Queue: db.Queue(nil)}, &audiosearch.Options{
		Scorers: []sound.Scorer{&stagedScorer{scorer, s}}, Media: media, Files: folder, Part: part,
		Env: mortise.Env{Logger: slog.New(slog.DiscardHandler)},
	})
	if err != nil {
		return err
	}
	seen, err := db.AudioSearch().Store.WindowScores(ctx, "o", "d", "v", stagedModel, 0, math.MaxInt32)
	if err != nil && !errors.Is(err, audiosearch.ErrNotScored) {
		return err
	}
	s.at("begin, and see %d", len(seen))
	s.free = os.Getenv("E2E_SCORE_FREE") != ""
	in, err := service.Ingest(ctx, "o", "", "d")
	if err != nil {
		return err
	}
	s.at("end scored=%d unchanged=%d problems=%d", in.Scored, in.Unchanged, len(in.Problems))
	return nil
}

// stagedMedia counts the samples that it decodes.
type stagedMedia struct {
	sound.Media
	decoded int
}

func (m *stagedMedia) PCM(ctx context.Context, path string, rate int) iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		for block, err := range m.Media.PCM(ctx, path, rate) {
			m.decoded += len(block)
			if !yield(block, err) {
				return
			}
		}
	}
}

const stagedModel = "signal in batches"

// stagedScorer is one whose scores depend on the batch, as those of a model on a graphics
// card do by their rounding. It says which samples it is given.
type stagedScorer struct {
	sound.Scorer
	stages *stages
}

func (s *stagedScorer) Model(ctx context.Context) (sound.Model, error) {
	m, err := s.Scorer.Model(ctx)
	m.ID = stagedModel
	return m, err
}

func (s *stagedScorer) Score(ctx context.Context, clips [][]float32) ([]sound.Scores, error) {
	h := sha256.New()
	for _, clip := range clips {
		b := binary.LittleEndian.AppendUint64(nil, uint64(len(clip)))
		for _, x := range clip {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		_, _ = h.Write(b) // it never fails
	}
	s.stages.at("score %d %x", len(clips), h.Sum(nil)[:8])
	rows, err := s.Scorer.Score(ctx, clips)
	for i, row := range rows {
		for c := range row {
			row[c] *= 1 - float32(signalBatch*len(clips)+i)/4096
		}
	}
	s.stages.at("scored")
	return rows, err
}

// stagedStore says what is asked of it.
type stagedStore struct {
	audiosearch.Store
	media  *stagedMedia
	stages *stages
}

func (s *stagedStore) Parts(
	ctx context.Context, org, dataset string, p audiosearch.Part,
) (int, error) {
	s.stages.at("ask")
	stored, err := s.Store.Parts(ctx, org, dataset, p)
	s.stages.at("asked %d %v", stored, err)
	return stored, err
}

func (s *stagedStore) PutPart(
	ctx context.Context, org, dataset string, p audiosearch.Part, columns [][]uint16,
) (int, error) {
	s.stages.at("put %d %d", p.First, len(columns[0]))
	stored, err := s.Store.PutPart(ctx, org, dataset, p, columns)
	s.stages.at("put %d: %d %v", p.First, stored, err)
	return stored, err
}

func (s *stagedStore) PutScoring(
	ctx context.Context, org, dataset, video, path string, scoring audiosearch.Scoring,
	columns [][]uint16,
) error {
	s.stages.at("flip %d %d of %d samples", scoring.Windows, len(columns[0]), s.media.decoded)
	err := s.Store.PutScoring(ctx, org, dataset, video, path, scoring, columns)
	s.stages.at("flipped %v", err)
	return err
}

// scoring is a process that scores a video, as this one tells it to.
type scoringProcess struct {
	t    testing.TB
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	errs processOutput
	late *time.Timer // kills it if it takes too long

	waits bool // to be told to go on
	free  bool
	log   []string
}

// begin starts a process on the file. With free it goes on by itself after the first
// stage.
func (f *scoredFile) begin(free bool) *scoringProcess {
	f.t.Helper()
	self, err := os.Executable()
	require.NoError(f.t, err)
	p := &scoringProcess{t: f.t, cmd: exec.Command(self), free: free}
	p.cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "E2E_SCORE="+f.path,
		"E2E_SCORE_FOLDER="+f.media.dir, "E2E_SCORE_PART="+f.part.String(), "E2E_SCORE_STOPS="+strings.Join(f.stops, ";"))
	if free {
		p.cmd.Env = append(p.cmd.Env, "E2E_SCORE_FREE=1")
	}
	p.cmd.Stderr = &p.errs
	p.in, err = p.cmd.StdinPipe()
	require.NoError(f.t, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(f.t, err)
	p.out = bufio.NewReader(out)
	require.NoError(f.t, p.cmd.Start())
	p.late = time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	f.t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			p.kill()
		}
	})
	require.Contains(f.t, p.next(), "begin")
	return p
}

// goOn tells the process to go on, if it waits.
func (p *scoringProcess) goOn() {
	p.t.Helper()
	if p.waits {
		_, err := io.WriteString(p.in, "\n")
		require.NoError(p.t, err, "%s", &p.errs)
	}
	p.waits = false
}

// next lets the process go on to its next stage.
func (p *scoringProcess) next() string {
	p.t.Helper()
	p.goOn()
	line, err := p.out.ReadString('\n')
	require.NoError(p.t, err, "after %q: %s", p.log, &p.errs)
	line = strings.TrimSuffix(line, "\n")
	p.log = append(p.log, line)
	p.waits = !p.free || strings.HasPrefix(line, "begin")
	return line
}

// until lets the process go on to a stage, and returns what it says there.
func (p *scoringProcess) until(stage string) string {
	p.t.Helper()
	for {
		line := p.next()
		if strings.HasPrefix(line, stage) {
			return line
		}
		require.False(p.t, strings.HasPrefix(line, "end "), "there was no %q: %q", stage, p.log)
	}
}

// finish lets the process go on to its end, and returns what came of it.
func (p *scoringProcess) finish() string {
	p.t.Helper()
	end := p.until("end ")
	p.goOn()
	assert.NoError(p.t, p.cmd.Wait(), "%s", &p.errs)
	p.late.Stop()
	return end
}

// kill ends the process with SIGKILL.
func (p *scoringProcess) kill() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Kill())
	_ = p.cmd.Wait() // it says that it was killed
	p.late.Stop()
}

// said returns what the process has said at a stage.
func (p *scoringProcess) said(stage string) []string {
	lines := []string{}
	for _, line := range p.log {
		if strings.HasPrefix(line, stage) {
			lines = append(lines, line)
		}
	}
	return lines
}

// batches returns the batches that the process has begun to score.
func (p *scoringProcess) batches() []string { return p.said("score ") }
