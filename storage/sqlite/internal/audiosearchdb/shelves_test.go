package audiosearchdb

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/audioset"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/nightly"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
)

// TestManyClasses: a model of 7000 classes is stored, found, packed, replaced and removed
// as one of a few, and stays when the file is opened again.
func TestManyClasses(t *testing.T) {
	nightly.Only(t)
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	db, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	require.NoError(t, db.audiosearch.CreateDataset(t.Context(), audiosearch.Dataset{Organization: "acme", ID: "d"}))
	const videos = manySegments + 20 // so that they are packed
	video := func(i int) string { return fmt.Sprintf("v%03d", i) }
	var put []audiosearch.Video
	for i := range videos {
		put = append(put, audiosearch.Video{ID: video(i), Path: "p"})
	}
	require.NoError(t, db.audiosearch.PutVideos(t.Context(), "acme", "d", put))
	classes := manyClasses(7000)
	scores := make(map[string][][]uint16) // by window
	score := func(i, windows, seed int) {
		columns := make([][]uint16, len(classes))
		rows := make([][]uint16, windows)
		for class := range columns {
			for w := range windows {
				s := uint16((class*31 + w*7 + i*13 + seed) % 60_000)
				columns[class], rows[w] = append(columns[class], s), append(rows[w], s)
			}
		}
		s := audiosearch.Scoring{Model: "m", Windows: windows, Classes: classes, Window: 10, Hop: 10}
		require.NoError(t, db.audiosearch.PutScoring(t.Context(), "acme", "d", video(i), "p", s, columns))
		scores[video(i)] = rows
	}
	compact := func() {
		for more := true; more; {
			_, more, err = db.audiosearch.Compact(t.Context(), audiosearch.CompactOptions{}, 100_000)
			require.NoError(t, err)
		}
	}
	compare := func() {
		t.Helper()
		tables := db.audiosearch
		for _, class := range []int{0, 1023, 1024, 2048, 5555, 6999} {
			var want []audiosearch.Hit
			for i := range videos {
				for w, row := range scores[video(i)] {
					want = append(want, audiosearch.Hit{Video: video(i), Window: w, Score: row[class]})
				}
			}
			slices.SortStableFunc(want, func(a, b audiosearch.Hit) int { return cmp.Compare(b.Score, a.Score) })
			hits, err := tables.Search(t.Context(), "acme", "d", audiosearch.ScoreQuery{Model: "m", Class: classes[class], Limit: 100})
			require.NoError(t, err)
			require.Equal(t, want[:100], hits, "class %d", class)
		}
		hits, err := tables.Search(t.Context(), "acme", "d", audiosearch.ScoreQuery{Model: "m", Class: "7000", Limit: 100})
		require.NoError(t, err)
		require.Empty(t, hits)
		for _, i := range []int{0, 7, videos - 1} {
			rows, err := tables.WindowScores(t.Context(), "acme", "d", video(i), "m", 0, 100)
			require.NoError(t, err)
			require.Equal(t, scores[video(i)], rows)
		}
		found, err := tables.Scorings(t.Context(), "acme", "d", "m", []string{video(0), video(7)})
		require.NoError(t, err)
		require.Len(t, found, 2)
		require.Equal(t, classes, found[video(7)].Classes)
		u, err := tables.Unscored(t.Context(), "acme", "d", audiosearch.UnscoredQuery{Model: "m", Limit: 1000})
		require.NoError(t, err)
		require.Equal(t, []int{len(put), len(put) - len(scores)}, []int{u.Matched, u.Without})
		require.Len(t, u.Videos, u.Without)
	}
	for i := range videos {
		score(i, 1+i%2, 0)
	}
	compare()
	compact()
	require.Equal(t, []int{7}, filetest.Numbers(t, db.File, "SELECT count(DISTINCT model) FROM audiosearch_blocks WHERE packed = 1"))
	compare()
	for i := range 30 { // some of the packed ones again
		score(i, 2, 1)
	}
	compare()
	require.NoError(t, db.Close())
	db, err = Open(t.Context(), path, nil)
	require.NoError(t, err)
	compare()
	require.NoError(t, db.audiosearch.DeleteVideo(t.Context(), "acme", "d", video(40)))
	put = slices.DeleteFunc(put, func(v audiosearch.Video) bool { return v.ID == video(40) })
	delete(scores, video(40))
	compare()
	compact()
	checkAudioTables(t, db.File)
	compare()

	require.NoError(t, db.audiosearch.DeleteDataset(t.Context(), "acme", "d"))
	compact()
	checkAudioTables(t, db.File)
	require.Equal(t, []int{0}, filetest.Numbers(t, db.File, "SELECT count(*) FROM audiosearch_vocabularies"))
}

// TestVocabularies: datasets and models share the names of classes. They go with the last
// one that needs them, and another process does not take new names for them.
func TestVocabularies(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	db, other := openHeard(t, path, nil), openHeard(t, path, nil)
	put := func(model string, classes ...sound.Class) {
		t.Helper()
		columns := make([][]uint16, len(classes))
		for i := range columns {
			columns[i] = []uint16{uint16(i)}
		}
		s := audiosearch.Scoring{Model: model, Windows: 1, Classes: classes}
		require.NoError(t, db.audiosearch.PutScoring(t.Context(), "acme", "d", "v0", "p", s, columns))
	}
	classesOf := func(db *DB, model string) []sound.Class {
		t.Helper()
		found, err := db.audiosearch.Scorings(t.Context(), "acme", "d", model, []string{"v0"})
		require.NoError(t, err)
		return found["v0"].Classes
	}
	names := func() []int {
		return filetest.Numbers(t, db.File, "SELECT seq FROM audiosearch_vocabularies ORDER BY seq")
	}
	put("a", "x", "y")
	put("b", "x", "y")
	put("b", "y", "x")
	require.Equal(t, []sound.Class{"y", "x"}, classesOf(other, "b"))
	both := names()
	require.Len(t, both, 2)
	models, err := db.audiosearch.Models(t.Context(), "acme", "d")
	require.NoError(t, err)
	require.Equal(t, []audiosearch.DatasetModel{{ID: "a", Classes: classesOf(db, "a")}, {ID: "b", Classes: classesOf(db, "b")}}, models)
	put("b", "x", "y") // its latest scoring has the classes of its first one again
	models, err = other.audiosearch.Models(t.Context(), "acme", "d")
	require.NoError(t, err)
	require.Equal(t, []sound.Class{"x", "y"}, models[1].Classes)

	for _, c := range []audiosearch.ModelChange{{Family: "f", To: "b"}, {Family: "f", From: "b", To: "a", At: filetest.SomeTime}} {
		require.NoError(t, db.audiosearch.SetModel(t.Context(), "acme", "d", c))
	}
	for more := true; more; {
		_, more, err = db.audiosearch.Compact(t.Context(), audiosearch.CompactOptions{ReplacedBefore: filetest.SomeTime.Add(1)}, 100_000)
		require.NoError(t, err)
	}
	require.Equal(t, both[:1], names(), "the current model needs it")
	put("c", "z")
	require.Len(t, names(), 2)
	require.Greater(t, names()[1], both[1], "a number is not given again")
	require.Equal(t, []sound.Class{"z"}, classesOf(other, "c"))
	require.Empty(t, classesOf(other, "b"))
	checkAudioTables(t, db.File)
}

// TestNumbersInTables: what statements and the tables' definitions know by heart.
func TestNumbersInTables(t *testing.T) {
	db, err := Open(t.Context(), filetest.EmptyFile(t), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	definition := func(index string) (text string) {
		require.NoError(t, db.Find(t.Context(), file.NoOrg, "SELECT sql FROM sqlite_schema WHERE name = ?", []any{index}, func(r *file.Row) error {
			text = strings.Join(strings.Fields(r.Text(0)), " ")
			return nil
		}))
		return strings.Join(strings.Fields(text), " ")
	}
	due := fmt.Sprintf(" WHERE loose_live >= %d OR loose_dead >= %[1]d OR segments >= %d", chunkWindows, manySegments)
	require.Contains(t, modelDue, due)
	require.Contains(t, definition("audiosearch_models_due"), due)
	long := fmt.Sprintf(" WHERE revision - forgotten > %d", 2*keptChanges)
	require.Contains(t, longChanges, long)
	require.Contains(t, definition("audiosearch_datasets_long"), long)
	require.Equal(t, 1024, blockRoom)
	require.Less(t, audioset.NumClasses, blockRoom, "today's files have one shelf")
}
