package e2e

import (
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/nightly"
	"github.com/seed-6363c74e/mortise/storage/sqlite"
)

// shortSound is two parts, a segment, and the last one.
const shortSound = 75.3

// compact lets the store tidy up until there is nothing left to do.
func compact(t *testing.T, db *sqlite.DB, opts audiosearch.CompactOptions) {
	t.Helper()
	for more := true; more; {
		var err error
		_, more, err = db.AudioSearch().Store.(audiosearch.Pruner).Compact(t.Context(), opts, 100_000)
		require.NoError(t, err)
	}
}

// TestScoringByTwoProcesses: of two processes that score the same video, each ends well,
// and there is one scoring in the end, with the scores of a process that is alone.
func TestScoringByTwoProcesses(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	m := newMedia(t)
	m.wav("sound.wav", varied(shortSound, 1)...)
	want := undisturbed(t, m, "sound.wav", 30*time.Second)
	require.Len(t, want.scores, 34)

	t.Run("one overtakes", func(t *testing.T) {
		t.Parallel()
		for _, late := range []struct {
			at      string // where it is while the other one does all
			batches int    // that it scores in all
			end     string
		}{
			{"flip ", 6, unchangedEnd},
			{"put 16 16", 4, unchangedEnd},
			{"put 0 16", 6, scoredEnd}, // it begins anew
			{"asked 0", 6, scoredEnd},
		} {
			f := newScoredFile(t, m, "sound.wav")
			p, other := f.begin(false), f.begin(false)
			other.until("asked 0")
			p.until(late.at)
			require.Equal(t, scoredEnd, other.finish())
			require.Equal(t, late.end, p.finish(), "late at %q: %q", late.at, p.log)
			require.Len(t, p.batches(), late.batches)
			want.require(t, f)
		}
	})

	t.Run("by turns", func(t *testing.T) {
		t.Parallel()
		f := newScoredFile(t, m, "sound.wav")
		p, other := f.begin(false), f.begin(false)
		other.until("asked 0")
		p.until("put 16 16")
		other.until("put 0: 16") // which is stored already
		p.until("flip ")
		require.Equal(t, "put 16: 32 <nil>", other.until("put 16:"), "the same again")
		require.Equal(t, scoredEnd, other.finish())
		require.Equal(t, unchangedEnd, p.finish())
		want.require(t, f)
	})

	t.Run("one behind", func(t *testing.T) {
		t.Parallel()
		f := newScoredFile(t, m, "sound.wav")
		p, other := f.begin(false), f.begin(false)
		other.until("put 0 16")
		p.until("put 16: 32")
		require.Equal(t, "put 0: 32 <nil>", other.until("put 0:"))
		p.kill()
		require.Equal(t, scoredEnd, other.finish())
		require.Len(t, other.batches(), 4, "the first part, and the end")
		want.require(t, f)
	})

	t.Run("one dies in a transaction", func(t *testing.T) {
		t.Parallel()
		f := newScoredFile(t, m, "sound.wav")
		f.stopWithin(inPart)
		p, other := f.begin(false), f.begin(false)
		other.until("put 0 16")
		p.until(inPart)
		other.goOn() // and has to wait, if it is quick
		p.kill()
		require.Equal(t, scoredEnd, other.finish())
		want.requireFrom(t, 0, other)
		want.require(t, f)
	})

	t.Run("at the same time", func(t *testing.T) {
		t.Parallel()
		f := newScoredFile(t, m, "sound.wav")
		p, other := f.begin(true), f.begin(true)
		p.goOn()
		other.goOn()
		for _, p := range []*scoringProcess{p, other} {
			require.Contains(t, []string{scoredEnd, unchangedEnd}, p.finish())
		}
		f.open(func(db *sqlite.DB) { compact(t, db, audiosearch.CompactOptions{}) })
		want.require(t, f)
	})
}

// TestKillThenChange: parts are those of a content. A file of another time keeps them,
// one of another content does not, even if it begins as the one before.
func TestKillThenChange(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	m := newMedia(t)
	sound := varied(shortSound, 1)
	m.wav("longer.wav", append(sound, dialTone(2))...)
	want := undisturbed(t, m, "longer.wav", 30*time.Second)
	m.wav("sound.wav", sound...)
	f := newScoredFile(t, m, "sound.wav")
	p := f.begin(false)
	p.until("put 0: 16")
	p.kill()

	touched := time.Now().Add(time.Hour)
	require.NoError(t, os.Chtimes(m.path("sound.wav"), touched, touched))
	p = f.begin(false)
	require.Equal(t, "asked 16 <nil>", p.until("asked"))
	p.until("scored")
	p.kill()

	m.wav("sound.wav", append(sound, dialTone(2))...)
	p = f.begin(false)
	require.Equal(t, "asked 0 <nil>", p.until("asked"))
	p.until("put 0: 16")
	p.kill()
	want.requireFrom(t, 0, p)

	p = f.begin(false)
	require.Equal(t, scoredEnd, p.finish())
	want.requireFrom(t, signalPart, p)
	// What the old file has left is nobody's.
	f.open(func(db *sqlite.DB) { compact(t, db, audiosearch.CompactOptions{}) })
	got, err := os.Stat(m.path("sound.wav"))
	require.NoError(t, err)
	want.scoring.FileTime = got.ModTime().UTC().Truncate(time.Microsecond)
	want.require(t, f)
}

// TestPartsOfTheDead: parts that nobody goes on with are gone a day later, and those of a
// video that is deleted as soon as the store tidies up.
func TestPartsOfTheDead(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	m := newMedia(t)
	m.wav("sound.wav", varied(shortSound, 1)...)
	f := newScoredFile(t, m, "sound.wav")
	have := func(wantUnfinished, wantParts, wantScores int) {
		t.Helper()
		unfinished, parts, scores := f.rows()
		require.Equal(t, []int{wantUnfinished, wantParts, wantScores}, []int{unfinished, parts, scores})
	}
	begin := time.Now()
	p := f.begin(false)
	p.until("put 16: 32")
	p.kill()
	have(1, 2, 2)
	f.open(func(db *sqlite.DB) { compact(t, db, audiosearch.CompactOptions{}) })
	have(1, 2, 2)
	f.open(func(db *sqlite.DB) { compact(t, db, audiosearch.CompactOptions{PartsBefore: begin}) })
	have(1, 2, 2)
	f.open(func(db *sqlite.DB) {
		compact(t, db, audiosearch.CompactOptions{PartsBefore: time.Now().Add(time.Second)})
	})
	have(0, 0, 0)

	p = f.begin(false)
	require.Equal(t, "asked 0 <nil>", p.until("asked"))
	p.until("put 0: 16")
	p.kill()
	have(1, 1, 1)
	sweep := func(later time.Duration) {
		f.open(func(db *sqlite.DB) {
			s, err := audiosearch.New(db.AudioSearch(), &audiosearch.Options{
				Env: mortise.Env{Now: func() time.Time { return time.Now().Add(later) }, Logger: slog.New(slog.DiscardHandler)},
			})
			require.NoError(t, err)
			w, err := audiosearch.NewSweeper(s, nil)
			require.NoError(t, err)
			_, err = w.RunOnce(t.Context())
			require.NoError(t, err)
		})
	}
	sweep(23 * time.Hour)
	have(1, 1, 1)
	sweep(25 * time.Hour)
	have(0, 0, 0)

	p = f.begin(false)
	p.until("put 0: 16")
	p.kill()
	have(1, 1, 1)
	f.open(func(db *sqlite.DB) {
		require.NoError(t, db.AudioSearch().Store.DeleteVideo(t.Context(), "o", "d", "v"))
		compact(t, db, audiosearch.CompactOptions{})
	})
	have(0, 0, 0)
}
