package e2e

import (
	"database/sql"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/nightly"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
)

// scoredFile is a database with one video, "v", that processes of its own score.
type scoredFile struct {
	t     testing.TB
	path  string
	media *media
	part  time.Duration
	stops []string // see stopWithin
}

func newScoredFile(t *testing.T, m *media, name string) *scoredFile {
	t.Helper()
	f := &scoredFile{t: t, path: filepath.Join(t.TempDir(), "scores.db"), media: m, part: 30 * time.Second}
	f.open(func(db *sqlite.DB) {
		store := db.AudioSearch().Store
		d, videos := audiosearch.Dataset{Organization: "o", ID: "d"}, []audiosearch.Video{{ID: "v", Path: name}}
		require.NoError(t, store.CreateDataset(t.Context(), d))
		require.NoError(t, store.PutVideos(t.Context(), "o", "d", videos))
	})
	return f
}

// open opens the file for a moment.
func (f *scoredFile) open(look func(*sqlite.DB)) {
	f.t.Helper()
	db, err := sqlite.Open(f.t.Context(), f.path, nil)
	require.NoError(f.t, err)
	defer func() { require.NoError(f.t, db.Close()) }()
	look(db)
}

// plain opens the file, which nobody else has open, without the package sqlite.
func (f *scoredFile) plain(look func(*sql.DB)) {
	f.t.Helper()
	db, err := sql.Open("sqlite", f.path)
	require.NoError(f.t, err)
	defer func() { require.NoError(f.t, db.Close()) }()
	look(db)
}

// stopWithin makes stages of statements: a process that carries one out stops behind it,
// within the transaction.
func (f *scoredFile) stopWithin(statements ...string) { f.stops = statements }

// rows returns how many rows there are of scorings that are being made, of their parts,
// and of all scores.
func (f *scoredFile) rows() (unfinished, parts, scores int) {
	f.t.Helper()
	f.plain(func(db *sql.DB) {
		const count = "SELECT (SELECT count(*) FROM audiosearch_unfinished)," +
			" (SELECT count(*) FROM audiosearch_parts), (SELECT count(*) FROM audiosearch_segments)"
		row := db.QueryRowContext(f.t.Context(), count)
		require.NoError(f.t, row.Scan(&unfinished, &parts, &scores))
	})
	return unfinished, parts, scores
}

// scored is what a video was scored as.
type scored struct {
	scoring audiosearch.Scoring // but for when
	scores  [][]uint16
	batches []string // that the process scored
	flip    string   // what it said then
}

func (f *scoredFile) scored() (s scored) {
	f.t.Helper()
	f.open(func(db *sqlite.DB) {
		store, ctx := db.AudioSearch().Store, f.t.Context()
		found, err := store.Scorings(ctx, "o", "d", stagedModel, []string{"v"})
		require.NoError(f.t, err)
		s.scoring = found["v"]
		s.scoring.At = time.Time{}
		s.scores, err = store.WindowScores(ctx, "o", "d", "v", stagedModel, 0, math.MaxInt32)
		require.NoError(f.t, err)
	})
	return s
}

// How a process ends that has scored the video, and one that has found it scored.
const (
	scoredEnd    = "end scored=1 unchanged=0 problems=0"
	unchangedEnd = "end scored=0 unchanged=1 problems=0"
)

// undisturbed returns what a video is scored as that nobody disturbs.
func undisturbed(t *testing.T, m *media, name string, part time.Duration) scored {
	t.Helper()
	f := newScoredFile(t, m, name)
	f.part = part
	p := f.begin(true)
	require.Equal(t, scoredEnd, p.finish())
	s := f.scored()
	s.flip, s.batches = p.said("flip ")[0], p.batches()
	unfinished, parts, _ := f.rows()
	require.Zero(t, unfinished+parts)
	return s
}

// require fails unless a video is scored as it would be if nobody had disturbed it.
func (s *scored) require(t *testing.T, f *scoredFile) {
	t.Helper()
	got := f.scored()
	require.Equal(t, s.scoring, got.scoring)
	require.Equal(t, s.scores, got.scores)
	unfinished, parts, _ := f.rows()
	require.Zero(t, unfinished+parts)
}

// requireFrom fails unless a process has begun with the batch behind the stored segments,
// and gone on with those after it, each of the same samples.
func (s *scored) requireFrom(t *testing.T, stored int, p *scoringProcess) {
	t.Helper()
	first := stored / signalBatch
	got := p.batches()
	require.LessOrEqual(t, first+len(got), len(s.batches))
	require.Equal(t, s.batches[first:first+len(got)], got)
}

// varied is sound of some seconds in which every class has scores between 0 and 1.
func varied(seconds float64, seed uint64) [][]float32 {
	var all [][]float32
	for i := 0; seconds > 0; i++ {
		length := min(seconds, float64(3+i%4))
		switch i % 3 {
		case 0:
			all = append(all, whiteNoise(length, seed+uint64(i)))
		case 1:
			all = append(all, dialTone(length))
		default:
			all = append(all, tones(length, 300+37*float64(i)))
		}
		seconds -= length
	}
	return all
}

// Stages within transactions. The scores of a part stand in the file first, what is to be
// known of them last.
const (
	inBegin = "INSERT ON audiosearch_unfinished" // the first part of a video
	inPart  = "INSERT ON audiosearch_parts"
	inCount = "UPDATE OF windows ON audiosearch_unfinished" // also where one asks what is stored
	inFlip  = "INSERT ON audiosearch_scorings"
	inTake  = "DELETE ON audiosearch_parts"
	inEnd   = "DELETE ON audiosearch_unfinished"
)

// Four parts, half a batch, and the last segment.
const (
	scoredSeconds  = 145.3
	scoredSegments = 69
)

// scoringKill is a stage of the work of a process, at which it is killed.
type scoringKill struct {
	at     string
	nth    int // of the process
	stored int // then
}

var scoringKills = []scoringKill{
	{"ask", 1, 0},
	{"score ", 1, 0},
	{"scored", 1, 0},
	{"put 0 16", 1, 0},
	{inBegin, 1, 0},
	{inPart, 1, 0},
	{inCount, 1, 0},
	{"put 0:", 1, signalPart},
	{inCount, 1, signalPart},
	{"score ", 2, signalPart},
	{inPart, 1, signalPart},
	{inCount, 2, signalPart},
	{"put 16: 32", 1, 2 * signalPart},
	{"put 48: 64", 1, 4 * signalPart},
	{"scored", 1, 4 * signalPart},
	{"score ", 2, 4 * signalPart},
	{"flip ", 1, 4 * signalPart},
	{inFlip, 1, 4 * signalPart},
	{inTake, 1, 4 * signalPart},
	{inEnd, 1, 4 * signalPart},
	{"flipped", 1, scoredSegments},
}

// TestKillUnderScoring: a process that scores a long video is killed with SIGKILL, and
// the next one, and so on, each at another stage of its work. Each decodes the sound from
// its start again, and scores the batches that are not stored yet, of the very same
// samples. In the end the scores equal those of an undisturbed process, bit for bit.
func TestKillUnderScoring(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	var few []scoringKill // each finds more in the store than the one before
	for _, kill := range scoringKills {
		if slices.Contains([]string{inPart, "put 0:", "put 48: 64", "flipped"}, kill.at) {
			few = append(few, kill)
		}
	}
	killUnderScoring(t, "sound.wav", few)
}

// TestKillUnderScoringAtEachStage is TestKillUnderScoring with a kill at each stage that
// there is, and of a file that ffmpeg decodes.
func TestKillUnderScoringAtEachStage(t *testing.T) {
	nightly.Only(t)
	for _, name := range []string{"sound.wav", "sound.m4a"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killUnderScoring(t, name, scoringKills)
		})
	}
}

func killUnderScoring(t *testing.T, name string, kills []scoringKill) {
	m := newMedia(t)
	m.wav("sound.wav", varied(scoredSeconds, 1)...)
	if name != "sound.wav" {
		tool(t, "ffprobe")
		m.ffmpeg("-i", "sound.wav", "-ar", "44100", "-ac", "2", "-c:a", "aac", "-b:a", "96k", name)
	}
	want := undisturbed(t, m, name, 30*time.Second)
	require.Len(t, want.scores, scoredSegments)
	if name == "sound.wav" {
		whole := undisturbed(t, m, name, time.Hour) // without parts
		require.Equal(t, want.scores, whole.scores)
		require.Equal(t, want.batches, whole.batches)
	}

	f := newScoredFile(t, m, name)
	f.stopWithin(inBegin, inPart, inCount, inFlip, inTake, inEnd)
	before, total := 0, 0
	for _, kill := range kills {
		within := strings.Contains(kill.at, " ON ") && kill.at != inFlip
		if within && name != "sound.wav" {
			continue // the store does not know the kind of file, and ffmpeg starts slowly
		}
		p := f.begin(false)
		require.Equal(t, "begin, and see 0", p.log[0], "nobody sees parts")
		for range kill.nth {
			p.until(kill.at)
		}
		p.kill()
		want.requireFrom(t, before, p)
		for _, line := range p.said("asked") {
			require.Equal(t, fmt.Sprintf("asked %d <nil>", before), line)
		}
		for _, line := range p.said("flip ") {
			require.Equal(t, want.flip, line, "all of the sound was decoded")
		}
		before, total = kill.stored, total+len(p.batches())
	}
	p := f.begin(false)
	require.Equal(t, fmt.Sprintf("begin, and see %d", scoredSegments), p.log[0])
	require.Equal(t, unchangedEnd, p.finish())
	want.require(t, f)
	t.Logf("%d batches scored, undisturbed %d", total, len(want.batches))
}
