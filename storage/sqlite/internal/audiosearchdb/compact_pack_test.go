package audiosearchdb

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/file"
)

// heldVideo is a video as a test knows it.
type heldVideo struct {
	audiosearch.Video
	scorings map[string]heldScoring // by model
}

type heldScoring struct {
	audiosearch.Scoring
	columns [][]uint16
}

// soundModel does to a dataset in a map what it does to one in a file that two databases
// have open, and compares what they say.
type soundModel struct {
	*testing.T
	rand   *rand.Rand
	path   string
	dbs    [2]*DB
	videos map[string]*heldVideo

	current  string            // model of the family "f"
	replaced map[string]string // families of models
}

func (m *soundModel) open(i int) {
	db, err := Open(m.Context(), m.path, nil)
	require.NoError(m, err)
	db.audiosearch.views.limit = 1
	m.dbs[i] = db
}

func (m *soundModel) tables() *Store { return m.dbs[m.rand.IntN(2)].audiosearch }

func pick[T any](m *soundModel, from ...T) T { return from[m.rand.IntN(len(from))] }

func (m *soundModel) id() string { return fmt.Sprintf("v%02d", m.rand.IntN(25)) }

// The steps that a model takes.

func (m *soundModel) putVideos() {
	var put []audiosearch.Video
	for range 1 + m.rand.IntN(8) {
		v := audiosearch.Video{ID: m.id(), Path: pick(m, "a.wav", "a.wav", "a.wav", "b.wav")}
		if slices.ContainsFunc(put, func(o audiosearch.Video) bool { return o.ID == v.ID }) {
			continue
		}
		if m.rand.IntN(5) > 0 {
			v.Metadata = metadata.Map{"n": metadata.Int(m.rand.Int64N(4)), "s": metadata.String(pick(m, "x", "y", "%", "_"))}
		}
		put = append(put, v)
	}
	require.NoError(m, m.tables().PutVideos(m.Context(), "acme", "d", put))
	for _, v := range put {
		held := &heldVideo{Video: v, scorings: make(map[string]heldScoring)}
		if was := m.videos[v.ID]; was != nil && was.Path == v.Path {
			held.scorings = was.scorings
		}
		m.videos[v.ID] = held
	}
}

func (m *soundModel) deleteVideo() {
	id := m.id()
	err := m.tables().DeleteVideo(m.Context(), "acme", "d", id)
	if m.videos[id] == nil {
		require.ErrorIs(m, err, audiosearch.ErrVideoNotFound)
		return
	}
	require.NoError(m, err)
	delete(m.videos, id)
}

func (m *soundModel) putScoring() {
	id, model := m.id(), pick(m, "one", "one", "two")
	s := audiosearch.Scoring{Model: model, Window: 10, Hop: 2}
	s.Classes = pick(m, []sound.Class{"1", "7"}, []sound.Class{"7"}, []sound.Class{"1", "7", "300"}, shelved)
	s.Windows = pick(m, 0, 1, 1, 2, 30, 700, segmentWindows, segmentWindows+1, 3000, 6000)
	if len(s.Classes) > blockRoom {
		s.Windows %= 500
	}
	highest := pick(m, 3, 1000, math.MaxUint16+1)
	columns := make([][]uint16, len(s.Classes))
	for i := range columns {
		columns[i] = make([]uint16, s.Windows)
		for j := range columns[i] {
			columns[i][j] = uint16(m.rand.IntN(highest))
		}
	}
	if m.rand.IntN(10) == 0 {
		s, columns = audiosearch.Scoring{Model: model, Problem: "no sound"}, nil
	}
	last := columns
	if s.Windows > 1 && m.rand.IntN(2) == 0 {
		last = m.putParts(id, &s, columns)
	}
	err := m.tables().PutScoring(m.Context(), "acme", "d", id, "a.wav", s, last)
	if v := m.videos[id]; v == nil || v.Path != "a.wav" {
		require.ErrorIs(m, err, audiosearch.ErrConflict)
		return
	}
	require.NoError(m, err)
	m.videos[id].scorings[model] = heldScoring{s, columns}
}

// putMany adds scores of one window, as many as make it worth to pack them.
func (m *soundModel) putMany() {
	for range manySegments / 2 {
		id := m.id()
		if v := m.videos[id]; v == nil || v.Path != "a.wav" {
			continue
		}
		s := audiosearch.Scoring{Model: "many", Classes: []sound.Class{"2"}, Windows: 1}
		columns := [][]uint16{{uint16(m.rand.IntN(5))}}
		require.NoError(m, m.tables().PutScoring(m.Context(), "acme", "d", id, "a.wav", s, columns))
		m.videos[id].scorings["many"] = heldScoring{s, columns}
	}
}

func (m *soundModel) compact() {
	for range 1 + m.rand.IntN(3) {
		_, _, err := m.tables().Compact(m.Context(), audiosearch.CompactOptions{}, 100_000)
		require.NoError(m, err)
	}
}

func (m *soundModel) compactAll() { m.compactWith(audiosearch.CompactOptions{}) }

func (m *soundModel) compactWith(opts audiosearch.CompactOptions) {
	for range 1000 {
		_, more, err := m.tables().Compact(m.Context(), opts, 100_000)
		require.NoError(m, err)
		if !more {
			return
		}
	}
	m.Fatal("compaction does not end")
}

func (m *soundModel) reopen() {
	i := m.rand.IntN(2)
	require.NoError(m, m.dbs[i].Close())
	m.open(i)
}

func (m *soundModel) deleteDataset() {
	if m.rand.IntN(10) > 0 {
		return
	}
	require.NoError(m, m.tables().DeleteDataset(m.Context(), "acme", "d"))
	require.NoError(m, m.tables().CreateDataset(m.Context(), audiosearch.Dataset{Organization: "acme", ID: "d"}))
	clear(m.videos)
	clear(m.replaced)
	m.current = ""
}

// forgetAll cuts the list of changes, as compaction does when it is long.
func (m *soundModel) forgetAll() {
	require.NoError(m, m.dbs[0].Write(m.Context(), func(tx *file.Tx) error {
		d := audioDataset{}
		if err := tx.Query(datasetByID, []any{"acme", "d"}, d.scan); err != nil {
			return err
		}
		return tx.Apply(
			file.Do(deleteChanges, d.seq, d.revision),
			file.Do(setForgotten, d.revision, d.seq),
		)
	}))
}

// filters returns some, and which videos pass.
func (m *soundModel) filters() ([]metadata.Filter, []*heldVideo) {
	var filters []metadata.Filter
	for range m.rand.IntN(3) {
		filters = append(filters, pick(m,
			metadata.Filter{Key: "n", Value: "2", Op: pick(m, metadata.Ops()...)},
			metadata.Filter{Key: "s", Value: pick(m, "x", "%", "_", ""), Op: pick(m, metadata.OpEqual, metadata.OpContains, metadata.OpNotEqual)},
		))
	}
	pass := slices.Collect(maps.Values(m.videos))
	for _, f := range filters {
		p, err := f.Predicate()
		require.NoError(m, err)
		pass = slices.DeleteFunc(pass, func(v *heldVideo) bool {
			value, ok := v.Metadata[f.Key]
			return !ok || !p(value)
		})
	}
	slices.SortFunc(pass, func(a, b *heldVideo) int { return strings.Compare(a.ID, b.ID) })
	return filters, pass
}

func (m *soundModel) search() {
	filters, pass := m.filters()
	q := audiosearch.ScoreQuery{Model: pick(m, "one", "two", "many"), Class: pick(m, sound.Class("1"), "7", "7", "2", "300", "1050"), Filters: filters,
		MinScore: pick(m, uint16(0), 0, 2, 900, 60000), Offset: pick(m, 0, 0, 1, 37, 9000), Limit: pick(m, 1, 5, 40, 1000)}
	if q.Model == "many" {
		q.Class = "2"
	}
	var want []audiosearch.Hit
	for _, v := range pass {
		s := v.scorings[q.Model]
		i := slices.Index(s.Classes, q.Class)
		if i < 0 {
			continue
		}
		for window, score := range s.columns[i] {
			if score >= q.MinScore {
				want = append(want, audiosearch.Hit{Video: v.ID, Window: window, Score: score})
			}
		}
	}
	slices.SortStableFunc(want, func(a, b audiosearch.Hit) int { return cmp.Compare(b.Score, a.Score) })
	want = want[min(q.Offset, len(want)):]
	want = want[:min(q.Limit, len(want))]
	got, err := m.tables().Search(m.Context(), "acme", "d", q)
	require.NoError(m, err)
	if len(want)+len(got) > 0 {
		require.Equal(m, want, got, "%+v", q)
	}
}

func (m *soundModel) unscored() {
	filters, pass := m.filters()
	q := audiosearch.UnscoredQuery{Model: pick(m, "one", "two"), Filters: filters, After: pick(m, "", "", m.id()), Limit: pick(m, 1, 3, 100)}
	var want []string
	without := 0
	for _, v := range pass {
		if s, ok := v.scorings[q.Model]; !ok || !s.Scored() {
			without++
		}
		if s, ok := v.scorings[q.Model]; (!ok || s.Problem != "") && v.ID > q.After && len(want) < q.Limit {
			want = append(want, v.ID)
		}
	}
	got, err := m.tables().Unscored(m.Context(), "acme", "d", q)
	require.NoError(m, err)
	require.Equal(m, []int{len(pass), without}, []int{got.Matched, got.Without})
	var ids []string
	for _, v := range got.Videos {
		ids = append(ids, v.ID)
		require.Equal(m, m.videos[v.ID].Video, v)
	}
	require.Equal(m, want, ids)
}

func (m *soundModel) missingKeys() {
	has := func(key string) bool {
		for _, v := range m.videos {
			if _, ok := v.Metadata[key]; ok {
				return true
			}
		}
		return false
	}
	missing, err := m.tables().MissingKeys(m.Context(), "acme", "d", []string{"s", "none", "n"})
	require.NoError(m, err)
	want := []string{"none"}
	if !has("n") {
		want = []string{"s", "none", "n"}
	}
	require.Equal(m, want, missing)
}

func (m *soundModel) windowScores() {
	id, model := m.id(), pick(m, "one", "two")
	var s heldScoring
	if v := m.videos[id]; v != nil {
		s = v.scorings[model]
	}
	from := m.rand.IntN(s.Windows + 2)
	to := from + pick(m, 0, 1, 40, 2000)
	got, err := m.tables().WindowScores(m.Context(), "acme", "d", id, model, from, to)
	if s.Model == "" || s.Problem != "" {
		require.ErrorIs(m, err, audiosearch.ErrNotScored)
		return
	}
	require.NoError(m, err)
	require.Len(m, got, max(0, min(to, s.Windows)-from))
	for i, row := range got {
		for class := range s.Classes {
			require.Equal(m, s.columns[class][from+i], row[class], "class %d of window %d", class, from+i)
		}
	}
}

// TestAudioSearchPacking: whatever is stored, replaced, deleted and packed through either
// of two databases, both find what is there, and nothing else.
func TestAudioSearchPacking(t *testing.T) {
	t.Parallel()
	m := &soundModel{T: t, path: filepath.Join(t.TempDir(), "test.db"), videos: make(map[string]*heldVideo), replaced: make(map[string]string)}
	m.rand = rand.New(rand.NewPCG(0, 7))
	for i := range m.dbs {
		m.open(i)
	}
	defer func() {
		for _, db := range m.dbs {
			require.NoError(t, db.Close())
		}
	}()
	require.NoError(t, m.tables().CreateDataset(t.Context(), audiosearch.Dataset{Organization: "acme", ID: "d"}))
	steps := []func(){
		m.putVideos, m.putVideos, m.deleteVideo, m.putScoring, m.putScoring, m.putScoring, m.putMany, m.compact, m.compactAll, m.reopen,
		m.deleteDataset, m.forgetAll, m.search, m.search, m.search, m.unscored, m.missingKeys, m.windowScores,
		m.setModel, m.dropReplaced, m.models, m.leaveParts,
	}
	for range 500 {
		steps[m.rand.IntN(len(steps))]()
	}
	m.models()
	m.leaveParts()
	m.dropParts()
	m.dropReplaced()
	m.compactAll()
	m.search()
	checkAudioTables(t, m.dbs[0].File)
}

// checkAudioTables looks for rows that nothing refers to, and for counters that are
// wrong, in a file that has nothing to be compacted.
func checkAudioTables(t *testing.T, db *file.File) {
	t.Helper()
	for _, c := range []struct{ what, query string }{
		{"a counter", "SELECT count(*) FROM audiosearch_models m WHERE (loose_live, loose_dead, segments) <>" +
			" (SELECT coalesce(sum(iif(loose, live, 0)), 0), coalesce(sum(iif(loose, windows - live, 0)), 0), coalesce(sum(packed = 0), 0)" +
			" FROM audiosearch_blocks b WHERE b.model = m.seq)"},
		{"a number of scorings", "SELECT count(*) FROM audiosearch_models m WHERE scorings <>" +
			" (SELECT count(*) FROM audiosearch_scorings s WHERE s.model = m.seq)"},
		{"a vocabulary", "SELECT count(*) FROM audiosearch_vocabularies WHERE seq NOT IN (SELECT vocabulary FROM audiosearch_models)"},
		{"a model without a vocabulary", "SELECT count(*) FROM audiosearch_models WHERE vocabulary NOT IN (SELECT seq FROM audiosearch_vocabularies)"},
		{"an unfinished scoring", "SELECT count(*) FROM audiosearch_unfinished WHERE coalesce(video, 0) NOT IN (SELECT seq FROM audiosearch_videos)"},
		{"a part", "SELECT count(*) FROM audiosearch_parts WHERE unfinished NOT IN (SELECT seq FROM audiosearch_unfinished)"},
		{"a part's place", "SELECT count(*) FROM audiosearch_parts WHERE segment NOT IN (SELECT block FROM audiosearch_segments)" +
			" OR segment IN (SELECT seq FROM audiosearch_blocks)"},
		{"a current model", "SELECT count(*) FROM audiosearch_current WHERE dataset NOT IN (SELECT seq FROM audiosearch_datasets)"},
		{"a replaced model", "SELECT count(*) FROM audiosearch_replaced WHERE dataset NOT IN (SELECT seq FROM audiosearch_datasets)"},
		{"something to pack", "SELECT count(*) FROM audiosearch_models WHERE loose_live >= 4334 OR loose_dead >= 4334 OR segments >= 256"},
		{"a model", "SELECT count(*) FROM audiosearch_models WHERE dataset NOT IN (SELECT seq FROM audiosearch_datasets)"},
		{"a video", "SELECT count(*) FROM audiosearch_videos WHERE dataset NOT IN (SELECT seq FROM audiosearch_datasets)"},
		{"a change", "SELECT count(*) FROM audiosearch_changes WHERE dataset NOT IN (SELECT seq FROM audiosearch_datasets)"},
		{"a scoring", "SELECT count(*) FROM audiosearch_scorings WHERE video NOT IN (SELECT seq FROM audiosearch_videos)"},
		{"a scoring", "SELECT count(*) FROM audiosearch_scorings WHERE model NOT IN (SELECT seq FROM audiosearch_models)"},
		{"a block", "SELECT count(*) FROM audiosearch_blocks WHERE model NOT IN (SELECT seq FROM audiosearch_models)"},
		{"a part", "SELECT count(*) FROM audiosearch_dead WHERE block NOT IN (SELECT seq FROM audiosearch_blocks)"},
		{"a segment", "SELECT count(*) FROM audiosearch_segments WHERE block NOT IN (SELECT seq FROM audiosearch_blocks WHERE packed = 0)" +
			" AND block NOT IN (SELECT segment FROM audiosearch_parts)"},
		{"a chunk", "SELECT count(*) FROM audiosearch_chunks WHERE seq / 1024 NOT IN (SELECT seq FROM audiosearch_blocks WHERE packed = 1)"},
		{"a deleted dataset", "SELECT count(*) FROM audiosearch_datasets WHERE organization IS NULL"},
	} {
		require.NoError(t, db.Find(context.Background(), file.NoOrg, c.query, nil, func(r *file.Row) error {
			require.Zero(t, r.Number(0), "%s that should not be", c.what)
			return nil
		}), c.query)
	}
}
