package audiosearchdb

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/storage/sqlite/internal/filetest"
)

// Steps of TestAudioSearchPacking: parts, and which models searches read.

// shelved are more classes than a row of audiosearch_models may have.
var shelved = manyClasses(blockRoom + 76)

// manyClasses returns so many classes: "0", "1", ...
func manyClasses(n int) []sound.Class {
	classes := make([]sound.Class, n)
	for i := range classes {
		classes[i] = sound.Class(strconv.Itoa(i))
	}
	return classes
}

// cut returns some windows of columns.
func cut(columns [][]uint16, from, to int) [][]uint16 {
	some := make([][]uint16, len(columns))
	for i := range columns {
		some[i] = columns[i][from:to]
	}
	return some
}

// putParts stores the first of a video's windows in parts, and returns the others.
func (m *soundModel) putParts(id string, s *audiosearch.Scoring, columns [][]uint16) (last [][]uint16) {
	p := audiosearch.Part{Video: id, Path: "a.wav", Model: s.Model, Digest: s.Digest, Window: s.Window, Hop: s.Hop, Classes: s.Classes}
	there := m.videos[id] != nil && m.videos[id].Path == "a.wav"
	if there { // what was left by others goes
		other := p
		other.Digest[0] = 99
		stored, err := m.tables().PutPart(m.Context(), "acme", "d", other, cut(columns, 0, 1))
		require.NoError(m, err)
		require.Positive(m, stored)
	}
	for p.First < s.Windows {
		windows := min(1+m.rand.IntN(2000), s.Windows-p.First)
		p.At = time.UnixMicro(m.rand.Int64N(100)).UTC()
		stored, err := m.tables().PutPart(m.Context(), "acme", "d", p, cut(columns, p.First, p.First+windows))
		if !there {
			require.ErrorIs(m, err, audiosearch.ErrConflict)
			break
		}
		require.NoError(m, err)
		require.Equal(m, p.First+windows, stored)
		stored, err = m.tables().Parts(m.Context(), "acme", "d", p)
		require.NoError(m, err)
		require.Equal(m, p.First+windows, stored)
		if p.First = stored; m.rand.IntN(3) == 0 {
			break
		}
	}
	return cut(columns, p.First, s.Windows)
}

// leaveParts stores parts that no scoring follows.
func (m *soundModel) leaveParts() {
	s := audiosearch.Scoring{Model: pick(m, "one", "two"), Windows: 1 + m.rand.IntN(1500), Classes: []sound.Class{"1"}}
	m.putParts(m.id(), &s, [][]uint16{make([]uint16, s.Windows)})
}

// dropParts removes all parts.
func (m *soundModel) dropParts() {
	m.compactWith(audiosearch.CompactOptions{PartsBefore: time.UnixMicro(100)})
	require.Equal(m, []int{0}, filetest.Numbers(m.T, m.dbs[0].File, "SELECT count(*) FROM audiosearch_unfinished"))
}

func (m *soundModel) setModel() {
	c := audiosearch.ModelChange{Family: "f", From: m.current, To: pick(m, "one", "two", "none"), At: time.UnixMicro(5).UTC(),
		Incomplete: m.rand.IntN(2) == 0}
	if c.From == c.To {
		return
	}
	complete := true
	for _, v := range m.videos {
		s, ok := v.scorings[c.From]
		if _, also := v.scorings[c.To]; ok && s.Scored() && !also {
			complete = false
		}
	}
	err := m.tables().SetModel(m.Context(), "acme", "d", c)
	if c.From != "" && !c.Incomplete && !complete {
		require.ErrorIs(m, err, audiosearch.ErrConflict)
		return
	}
	require.NoError(m, err)
	if m.current = c.To; c.From != "" {
		m.replaced[c.From] = "f"
	}
	delete(m.replaced, c.To)
}

// dropReplaced removes the scorings by models that were replaced.
func (m *soundModel) dropReplaced() {
	m.compactWith(audiosearch.CompactOptions{ReplacedBefore: time.UnixMicro(6)})
	for _, v := range m.videos {
		for model := range m.replaced {
			delete(v.scorings, model)
		}
	}
	for model := range m.replaced {
		require.Equal(m, []int{0}, filetest.Numbers(m.T, m.dbs[0].File, fmt.Sprintf("SELECT count(*) FROM audiosearch_models WHERE model = '%s'"+
			" AND dataset = (SELECT seq FROM audiosearch_datasets WHERE id = 'd')", model)))
	}
}

func (m *soundModel) models() {
	known := make(map[string]audiosearch.DatasetModel)
	for _, v := range m.videos {
		for model := range v.scorings {
			known[model] = audiosearch.DatasetModel{ID: model}
		}
	}
	for model, family := range m.replaced {
		known[model] = audiosearch.DatasetModel{ID: model, Family: family, ReplacedAt: time.UnixMicro(5).UTC()}
	}
	if m.current != "" {
		known[m.current] = audiosearch.DatasetModel{ID: m.current, Family: "f", Current: true}
	}
	var want []audiosearch.DatasetModel
	for _, d := range known {
		want = append(want, d)
	}
	slices.SortFunc(want, func(a, b audiosearch.DatasetModel) int { return strings.Compare(a.ID, b.ID) })
	got, err := m.tables().Models(m.Context(), "acme", "d")
	require.NoError(m, err)
	require.Len(m, got, len(want))
	for i := range got {
		var some [][]sound.Class
		for _, v := range m.videos {
			if s, ok := v.scorings[got[i].ID]; ok && s.Scored() {
				some = append(some, s.Classes)
			}
		}
		if len(some) == 0 {
			require.Nil(m, got[i].Classes)
		} else {
			require.Contains(m, some, got[i].Classes)
		}
		got[i].Classes = nil
		require.Equal(m, want[i], got[i])
	}
}
