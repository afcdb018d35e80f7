package sqlite

import (
	"encoding/binary"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// oldIndexes are classes as files had them before classes had names: AudioSet indexes.
func oldIndexes(indexes ...uint16) []byte {
	b := []byte{} // not NULL
	for _, i := range indexes {
		b = binary.LittleEndian.AppendUint16(b, i)
	}
	return b
}

// writeOldScores makes a file with scores of classes that have no names yet: those of v1
// in a segment, those of v2 and v3 in chunks, a problem of v4, and a dataset that had the
// same classes by the same model.
func writeOldScores(t *testing.T, path string) {
	require.NoError(t, create(path))
	conn := connectTo(t, path, url.Values{"_journal": {"WAL"}})
	require.NoError(t, migrate(t.Context(), conn, released(t, 6, "audiosearch", "jobs")))
	do := func(statement string, args ...any) {
		_, err := conn.exec(t.Context(), statement, args...)
		require.NoError(t, err, statement)
	}
	do("INSERT INTO audiosearch_datasets (seq, organization, id, created_at, revision, forgotten) VALUES (1,'acme','d',0,9,9), (2,'acme','e',0,9,9)")
	do("INSERT INTO audiosearch_videos (seq, dataset, id, path) VALUES (1,1,'v1','p'), (2,1,'v2','p'), (3,1,'v3','p'), (4,1,'v4','p'), (5,2,'v5','p')")
	insert := "INSERT INTO audiosearch_models (seq, dataset, model, window, hop, classes, loose_live, segments) VALUES (?,?,'m',?,?,?,?,?)"
	do(insert, 3, 1, 10, 2, oldIndexes(0, 74), 5, 1)
	do(insert, 5, 1, 0, 0, oldIndexes(), 0, 0)
	do(insert, 6, 2, 10, 2, oldIndexes(0, 74), 0, 0)
	blocks := "INSERT INTO audiosearch_blocks (seq, model, packed, loose, windows, live, layout, maxima) VALUES (?,?,?,1,?,?,?,?)"
	do(blocks, 1, 3, 0, 2, 2, appendLayout(nil, []part{{video: 1, rows: 2}}), nil)
	do("INSERT INTO audiosearch_segments VALUES (1, ?)", oldIndexes(10, 11, 20, 21))
	do(blocks, 2, 3, 1, 3, 3, appendLayout(nil, []part{{video: 2, rows: 1}, {video: 3, rows: 2}}), oldIndexes(14, 24))
	do("INSERT INTO audiosearch_chunks VALUES (2048, ?), (2049, ?)", oldIndexes(12, 13, 14), oldIndexes(22, 23, 24))
	scoring := "INSERT INTO audiosearch_scorings (video, model, size, digest, problem, duration, windows, has_video, places) VALUES (?,?,7,?,?,?,?,0,?)"
	digest := make([]byte, 32)
	do(scoring, 1, 3, digest, nil, 4000, 2, appendPlaces(nil, []place{{block: 1, rows: 2}}))
	do(scoring, 2, 3, digest, nil, 2000, 1, appendPlaces(nil, []place{{block: 2, rows: 1}}))
	do(scoring, 3, 3, digest, nil, 4000, 2, appendPlaces(nil, []place{{block: 2, part: 1, start: 1, rows: 2}}))
	do(scoring, 4, 5, digest, "no sound", 0, 0, nil)
	require.NoError(t, conn.close())
}

// TestMigrateScores: scores of a file from before classes had names are found by the
// names, and can be replaced. None of them is written anew.
func TestMigrateScores(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	writeOldScores(t, path)
	db, err := Open(t.Context(), path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	tables := &AudioSearch{db: db}
	search := func(class sound.Class) (found []uint16) {
		t.Helper()
		hits, err := tables.Search(t.Context(), "acme", "d", audiosearch.ScoreQuery{Model: "m", Class: class, Limit: 10})
		require.NoError(t, err)
		for _, h := range hits {
			found = append(found, h.Score)
		}
		return found
	}
	require.Equal(t, []uint16{14, 13, 12, 11, 10}, search("Speech"))
	require.Equal(t, []uint16{24, 23, 22, 21, 20}, search("Dog"))
	require.Empty(t, search("74"))

	classes := []sound.Class{"Speech", "Dog"}
	scorings, err := tables.Scorings(t.Context(), "acme", "d", "m", []string{"v3", "v4", "v9"})
	require.NoError(t, err)
	require.Equal(t, map[string]audiosearch.Scoring{
		"v3": {Model: "m", FileSize: 7, Duration: 4 * time.Second, Window: 10, Hop: 2, Windows: 2, Classes: classes},
		"v4": {Model: "m", FileSize: 7, Problem: "no sound", Classes: scorings["v4"].Classes},
	}, scorings)
	require.Empty(t, scorings["v4"].Classes)
	for video, want := range map[string][][]uint16{"v1": {{10, 20}, {11, 21}}, "v2": {{12, 22}}, "v3": {{13, 23}, {14, 24}}} {
		rows, err := tables.WindowScores(t.Context(), "acme", "d", video, "m", 0, 9)
		require.NoError(t, err)
		require.Equal(t, want, rows)
	}
	models, err := tables.Models(t.Context(), "acme", "d")
	require.NoError(t, err)
	require.Equal(t, []audiosearch.DatasetModel{{ID: "m", Classes: classes}}, models)
	models, err = tables.Models(t.Context(), "acme", "e")
	require.NoError(t, err)
	require.Empty(t, models, "nothing is scored by it any more")
	require.Equal(t, []int{0, 2}, numbers(t, db, "SELECT classes FROM audiosearch_vocabularies ORDER BY 1"), "datasets share them")
	u, err := tables.Unscored(t.Context(), "acme", "d", audiosearch.UnscoredQuery{Model: "m", Limit: 9})
	require.NoError(t, err)
	require.Equal(t, []int{4, 1}, []int{u.Matched, u.Without})

	// The rows of the model are those that new scorings go to.
	s := audiosearch.Scoring{Model: "m", Window: 10, Hop: 2, Windows: 1, Classes: classes}
	for _, video := range []string{"v1", "v2", "v4"} {
		require.NoError(t, tables.PutScoring(t.Context(), "acme", "d", video, "p", s, [][]uint16{{30}, {40}}))
	}
	require.Equal(t, []uint16{30, 30, 30, 14, 13}, search("Speech"))
	require.Equal(t, []uint16{40, 40, 40, 24, 23}, search("Dog"))
	require.Equal(t, []int{4, 0, 0}, numbers(t, db, "SELECT scorings FROM audiosearch_models ORDER BY seq"))
	require.NoError(t, tables.DeleteDataset(t.Context(), "acme", "e"))
	for more := true; more; {
		more, err = tables.Compact(t.Context(), audiosearch.CompactOptions{})
		require.NoError(t, err)
	}
	require.Equal(t, []uint16{30, 30, 30, 14, 13}, search("Speech"), "the other dataset's vocabulary stays")
	checkAudioTables(t, db)
}
