package audiosearchdb

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
)

// parting is a video that is scored in parts.
type parting struct {
	*testing.T
	path    string
	db      *DB
	part    audiosearch.Part
	columns [][]uint16
}

func newParting(t *testing.T, classes, windows int) *parting {
	p := &parting{T: t, path: filepath.Join(t.TempDir(), "test.db")}
	p.db = openHeard(t, p.path, nil)
	p.part = audiosearch.Part{Video: "v0", Path: "p", Model: "m", Digest: [32]byte{1}, Window: 10, Hop: 2,
		Classes: manyClasses(classes), At: filetest.SomeTime}
	p.columns = make([][]uint16, classes)
	for class := range p.columns {
		for w := range windows {
			p.columns[class] = append(p.columns[class], uint16(class*100+w))
		}
	}
	return p
}

// put stores the windows from one to another.
func (p *parting) put(from, to int) (int, error) {
	part := p.part
	part.First = from
	return p.db.audiosearch.PutPart(p.Context(), "acme", "d", part, cut(p.columns, from, to))
}

// score stores the scoring, whose windows from one on are not in parts.
func (p *parting) score(from int) error {
	s := audiosearch.Scoring{Model: p.part.Model, Digest: p.part.Digest, Window: p.part.Window,
		Hop: p.part.Hop, Windows: len(p.columns[0]), Classes: p.part.Classes}
	return p.db.audiosearch.PutScoring(p.Context(), "acme", "d", "v0", "p", s, cut(p.columns, from, s.Windows))
}

// stored is what Parts says.
func (p *parting) stored() int {
	p.Helper()
	n, err := p.db.audiosearch.Parts(p.Context(), "acme", "d", p.part)
	require.NoError(p, err)
	return n
}

func (p *parting) reopen() {
	require.NoError(p, p.db.Close())
	p.db = openHeard(p.T, p.path, nil)
}

// found is how many windows a search through a database finds.
func (p *parting) found(db *DB) int {
	p.Helper()
	hits, err := db.audiosearch.Search(p.Context(), "acme", "d", audiosearch.ScoreQuery{Model: "m", Class: "1", Limit: 100_000})
	require.NoError(p, err)
	return len(hits)
}

func (p *parting) compact(opts audiosearch.CompactOptions) (steps int) {
	p.Helper()
	for more := true; more; steps++ {
		var err error
		_, more, err = p.db.audiosearch.Compact(p.Context(), opts, 100_000)
		require.NoError(p, err)
	}
	return steps - 1
}

// TestParts: parts outlive the process, nobody sees them before the scoring is put, and
// that is a small change: no score is written again.
func TestParts(t *testing.T) {
	const classes, windows, each = blockRoom + 6, 3000, 700
	p := newParting(t, classes, windows)
	other := openHeard(t, p.path, nil)
	require.Zero(t, p.found(other))
	last := 0
	for ; last+each < windows; last += each {
		stored, err := p.put(last, last+each)
		require.NoError(t, err)
		require.Equal(t, last+each, stored)
		require.Zero(t, p.found(p.db))
		require.Zero(t, p.found(other))
		p.reopen()
		require.Equal(t, last+each, p.stored())
		require.Zero(t, p.compact(audiosearch.CompactOptions{PartsBefore: filetest.SomeTime}), "they are not old")
	}
	_, err := other.audiosearch.WindowScores(t.Context(), "acme", "d", "v0", "m", 0, 1)
	require.ErrorIs(t, err, audiosearch.ErrNotScored)

	changes := func() (n int) {
		require.NoError(t, p.db.Write(t.Context(), func(tx *file.Tx) error {
			changed, err := number(tx, "SELECT total_changes()")
			n = int(changed)
			return err
		}))
		return n
	}
	const segments = "SELECT block FROM audiosearch_segments ORDER BY block"
	before, rows := filetest.Numbers(t, p.db.File, segments), changes()
	require.NoError(t, p.score(last))
	after := filetest.Numbers(t, p.db.File, segments)
	require.Equal(t, before, after[:len(before)], "they stay where they are")
	require.Len(t, after, len(before)+2, "the last windows, on two shelves")
	require.LessOrEqual(t, changes()-rows, 2*len(after)+12, "a block for each segment, and that the parts are gone")

	for _, db := range []*DB{p.db, other} {
		require.Equal(t, windows, p.found(db))
		scores, err := db.audiosearch.WindowScores(t.Context(), "acme", "d", "v0", "m", 0, windows)
		require.NoError(t, err)
		require.Len(t, scores, windows)
		for w, row := range scores {
			for class := range row {
				if row[class] != p.columns[class][w] {
					require.Equal(t, p.columns[class][w], row[class], "class %d of window %d", class, w)
				}
			}
		}
	}
	require.Zero(t, p.stored(), "they are part of the scoring now")
	checkAudioTables(t, p.db.File)
	for i := range 3 { // so that there is something to pack
		s := audiosearch.Scoring{Model: "m", Windows: windows, Window: 10, Hop: 2, Classes: p.part.Classes}
		require.NoError(t, p.db.audiosearch.PutScoring(t.Context(), "acme", "d", heardVideo(1+i), "p", s, p.columns))
	}
	require.Positive(t, p.compact(audiosearch.CompactOptions{}))
	require.Equal(t, 4*windows, p.found(other))
	checkAudioTables(t, p.db.File)
}

// TestPartsDoNotFit: a scoring takes only parts that are just its own, and up to where
// one ends.
func TestPartsDoNotFit(t *testing.T) {
	p := newParting(t, 2, 90)
	for from := 0; from < 60; from += 20 {
		_, err := p.put(from, from+20)
		require.NoError(t, err)
	}
	require.ErrorIs(t, p.score(70), audiosearch.ErrConflict, "too few parts")
	require.ErrorIs(t, p.score(50), audiosearch.ErrConflict, "no part ends there")
	ours := p.part
	for name, change := range map[string]func(){
		"digest":  func() { p.part.Digest[1] = 9 },
		"window":  func() { p.part.Window++ },
		"hop":     func() { p.part.Hop++ },
		"classes": func() { p.part.Classes = manyClasses(3)[1:] },
		"model":   func() { p.part.Model = "n" },
	} {
		change()
		require.Zero(t, p.stored(), name)
		require.ErrorIs(t, p.score(60), audiosearch.ErrConflict, name)
		_, err := p.put(60, 90)
		require.ErrorIs(t, err, audiosearch.ErrConflict, name)
		p.part = ours
	}
	require.Equal(t, 60, p.stored(), "nothing of that has changed anything")
	require.Zero(t, p.found(p.db))
	require.NoError(t, p.score(40), "somebody else has put the last part")
	require.Equal(t, 90, p.found(p.db))
	require.Zero(t, p.stored())
	require.Positive(t, p.compact(audiosearch.CompactOptions{}), "the part that was not needed goes")
	require.Equal(t, []int{0}, filetest.Numbers(t, p.db.File, "SELECT count(*) FROM audiosearch_unfinished"))
	checkAudioTables(t, p.db.File)
}

// TestPartsGo: parts that nobody can use any more go, whatever the reason, in steps that
// are bounded.
func TestPartsGo(t *testing.T) {
	for name, leave := range map[string]func(*parting) error{
		"another scoring": func(p *parting) error { return p.score(0) },
		"a problem": func(p *parting) error {
			s := audiosearch.Scoring{Model: "m", Problem: "no sound"}
			return p.db.audiosearch.PutScoring(p.Context(), "acme", "d", "v0", "p", s, nil)
		},
		"another file": func(p *parting) error {
			p.part.Digest[0]++
			if _, err := p.put(0, 1); err != nil {
				return err
			}
			return p.score(1)
		},
		"another path": func(p *parting) error {
			return p.db.audiosearch.PutVideos(p.Context(), "acme", "d", []audiosearch.Video{{ID: "v0", Path: "q"}})
		},
		"no video":   func(p *parting) error { return p.db.audiosearch.DeleteVideo(p.Context(), "acme", "d", "v0") },
		"no dataset": func(p *parting) error { return p.db.audiosearch.DeleteDataset(p.Context(), "acme", "d") },
		"age":        func(*parting) error { return nil },
		"a replaced model": func(p *parting) error {
			for _, c := range []audiosearch.ModelChange{{Family: "f", To: "m"}, {Family: "f", From: "m", To: "n"}} {
				if err := p.db.audiosearch.SetModel(p.Context(), "acme", "d", c); err != nil {
					return err
				}
			}
			p.compact(audiosearch.CompactOptions{ReplacedBefore: filetest.SomeTime})
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newParting(t, 2, 5*segmentWindows*10)
			_, err := p.put(0, len(p.columns[0]))
			require.NoError(t, err)
			require.NoError(t, leave(p))
			parts := func() int {
				return filetest.Numbers(t, p.db.File, "SELECT coalesce(sum(windows), 0) FROM audiosearch_parts")[0]
			}
			for more := true; more; {
				was := parts()
				_, more, err = p.db.audiosearch.Compact(t.Context(), audiosearch.CompactOptions{PartsBefore: filetest.SomeTime.Add(1)}, 100_000)
				require.NoError(t, err)
				require.LessOrEqual(t, was-parts(), windowsAtOnce)
			}
			require.Equal(t, []int{0}, filetest.Numbers(t, p.db.File, "SELECT count(*) FROM audiosearch_unfinished"))
			checkAudioTables(t, p.db.File)
		})
	}
}

// TestPartsOfTwo: of two who score the same video, one has its parts stored, and the
// other hears how far they are.
func TestPartsOfTwo(t *testing.T) {
	p := newParting(t, 2, 90)
	for _, c := range []struct{ from, to, stored int }{{0, 30, 30}, {0, 40, 30}, {30, 60, 60}, {30, 31, 60}} {
		stored, err := p.put(c.from, c.to)
		require.NoError(t, err)
		require.Equal(t, c.stored, stored)
	}
	_, err := p.put(61, 62)
	require.ErrorIs(t, err, audiosearch.ErrConflict)
	p.part.At = filetest.SomeTime.Add(1)
	require.Equal(t, 60, p.stored())
	require.Equal(t, 60, p.stored())
	require.NoError(t, p.score(60))
	rows, err := p.db.audiosearch.WindowScores(t.Context(), "acme", "d", "v0", "m", 29, 31)
	require.NoError(t, err)
	require.Equal(t, [][]uint16{{29, 129}, {30, 130}}, rows)
	checkAudioTables(t, p.db.File)
}
