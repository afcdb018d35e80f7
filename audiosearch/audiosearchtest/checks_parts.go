package audiosearchtest

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/steptest"
)

// partOf returns the part of a scoring that begins at a segment.
func partOf(v audiosearch.Video, sc audiosearch.Scoring, first int) audiosearch.Part {
	return audiosearch.Part{
		Video: v.ID, Path: v.Path, Model: sc.Model, Media: sc.Media, Digest: sc.Digest, Window: sc.Window, Hop: sc.Hop,
		Classes: slices.Clone(sc.Classes), First: first, At: moment(0),
	}
}

// noise returns scores of every kind, the same for the same seed.
func noise(seed uint64, windows, classes int) [][]uint16 {
	random := rand.New(rand.NewPCG(seed, 3))
	all := make([][]uint16, classes)
	for c := range all {
		all[c] = make([]uint16, windows)
		for i := range all[c] {
			all[c][i] = uint16(random.Uint32())
		}
	}
	return all
}

// cut returns the scores of the segments from one to another.
func cut(columns [][]uint16, from, to int) [][]uint16 {
	part := make([][]uint16, len(columns))
	for c := range part {
		part[c] = slices.Clone(columns[c][from:to])
	}
	return part
}

// putPart stores a part of a video of setA, and returns how many segments stand in parts.
func (s *subject) putPart(t *testing.T, p audiosearch.Part, columns [][]uint16) int {
	t.Helper()
	stored, err := s.Parts.PutPart(t.Context(), orgA, setA, p, columns)
	require.NoError(t, err, "PutPart from segment %d on", p.First)
	return stored
}

// putParts stores the scores of a video of setA up to a segment, in parts that end there
// and at the others before it.
func (s *subject) putParts(t *testing.T, v audiosearch.Video, sc audiosearch.Scoring, all [][]uint16, ends ...int) {
	t.Helper()
	first := 0
	for _, end := range ends {
		require.Equal(t, end, s.putPart(t, partOf(v, sc, first), cut(all, first, end)), "how many stand in parts")
		first = end
	}
}

// inParts requires how many segments of a video of setA stand in parts like one.
func (s *subject) inParts(t *testing.T, want int, p audiosearch.Part) {
	t.Helper()
	s.inPartsOf(t, orgA, setA, want, p)
}

// inPartsOf is inParts for any dataset.
func (s *subject) inPartsOf(t *testing.T, org, dataset string, want int, p audiosearch.Part) {
	t.Helper()
	stored, err := s.Parts.Parts(t.Context(), org, dataset, p)
	require.NoError(t, err, "Parts")
	require.Equal(t, want, stored, "how many segments stand in parts")
}

// flip stores a scoring of a video of setA whose segments before one stand in parts.
func (s *subject) flip(t *testing.T, v audiosearch.Video, sc audiosearch.Scoring, all [][]uint16, from int) {
	t.Helper()
	s.putScoring(t, orgA, setA, v, sc, cut(all, from, len(all[0])))
}

// hasScores requires that a video of setA, which is the only one with scores by the model,
// has the scoring as it is, and all of these scores.
func (s *subject) hasScores(t *testing.T, id string, sc audiosearch.Scoring, all [][]uint16) {
	t.Helper()
	s.hasScoring(t, orgA, setA, id, sc)
	rows := s.windows(t, orgA, setA, id, sc.Model, 0, sc.Windows+10)
	require.Len(t, rows, sc.Windows)
	for i, row := range rows {
		for c := range all {
			require.Equal(t, all[c][i], row[c], "segment %d, class %q", i, sc.Classes[c])
		}
	}
	for c, class := range sc.Classes {
		found := s.search(t, orgA, setA, audiosearch.ScoreQuery{Model: sc.Model, Class: class})
		require.Len(t, found, sc.Windows, "class %q", class)
		for _, h := range found {
			require.Equal(t, audiosearch.Hit{Video: id, Window: h.Window, Score: all[c][h.Window]}, h)
		}
	}
}

// model returns what a dataset knows of a model; ok is false if it knows nothing.
func (s *subject) model(t *testing.T, org, dataset, id string) (m audiosearch.DatasetModel, ok bool) {
	t.Helper()
	models, err := s.Models.Models(t.Context(), org, dataset)
	require.NoError(t, err, "Models")
	at := slices.IndexFunc(models, func(m audiosearch.DatasetModel) bool { return m.ID == id })
	if at < 0 {
		return audiosearch.DatasetModel{}, false
	}
	return models[at], true
}

// hasModels requires that setA knows these models, in this order.
func (s *subject) hasModels(t *testing.T, want ...audiosearch.DatasetModel) {
	t.Helper()
	s.hasModelsOf(t, orgA, setA, want...)
}

// hasModelsOf is hasModels for any dataset.
func (s *subject) hasModelsOf(t *testing.T, org, dataset string, want ...audiosearch.DatasetModel) {
	t.Helper()
	got, err := s.Models.Models(t.Context(), org, dataset)
	require.NoError(t, err, "Models")
	require.Len(t, got, len(want), "%+v", got)
	for i := range want {
		if want[i].ReplacedAt.IsZero() {
			require.True(t, got[i].ReplacedAt.IsZero(), "%q was replaced at %v", got[i].ID, got[i].ReplacedAt)
			got[i].ReplacedAt = time.Time{}
		} else {
			conformance.SameTime(t, "ReplacedAt", want[i].ReplacedAt, &got[i].ReplacedAt)
		}
		if len(got[i].Classes) == 0 {
			got[i].Classes = nil
		}
		conformance.Same(t, want[i], got[i])
	}
}

// setModel changes the current model of the family f of setA.
func (s *subject) setModel(t *testing.T, from, to string, at time.Duration) {
	t.Helper()
	require.NoError(t, s.Models.SetModel(t.Context(), orgA, setA, change(from, to, at)), "from %q to %q", from, to)
}

// change returns a change of the family f.
func change(from, to string, at time.Duration) audiosearch.ModelChange {
	return audiosearch.ModelChange{Family: "f", From: from, To: to, At: moment(at)}
}

// compactBy compacts with options until there is nothing more to do.
func (s *subject) compactBy(t *testing.T, opts audiosearch.CompactOptions) {
	t.Helper()
	steptest.All(t, 1000, s.compacting(opts))
}

// compacting is Compact with options.
func (s *subject) compacting(opts audiosearch.CompactOptions) steptest.Do {
	return func(ctx context.Context, limit int) (int, bool, error) {
		return s.Scores.(audiosearch.Pruner).Compact(ctx, opts, limit)
	}
}
