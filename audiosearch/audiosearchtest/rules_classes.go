package audiosearchtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// exactClasses are names of classes that are not the same, though a collation may think so.
var exactClasses = []sound.Class{
	"Dog", "dog", "DOG", "Dog ", " Dog", "D\u00f6g", "Do\u0308g", "D%", "D_g", "Dogs", "Do", "'", `"`, `\`, ",", "Dog,dog", "Dog\ndog", "74", "074",
	"\u0416", "\U0001F436", "null", " ", "\t", sound.Class(strings.Repeat("n", 255)),
	sound.Class(strings.Repeat("n", 254)), sound.Class(strings.Repeat("\u00fc", 127) + "n"),
}

// found returns the scores that a search of setA for a class finds of a video.
func (s *subject) found(t *testing.T, model string, class sound.Class, video string) []uint16 {
	t.Helper()
	var scores []uint16
	for _, h := range s.search(t, orgA, setA, audiosearch.ScoreQuery{Model: model, Class: class}) {
		if h.Video == video {
			scores = append(scores, h.Score)
		}
	}
	return scores
}

// hasVocabulary requires that a video of setA has a scoring of one segment whose scores
// are from, from+1 and so on, class by class.
func (s *subject) hasVocabulary(t *testing.T, id string, sc audiosearch.Scoring, from int) {
	t.Helper()
	s.hasScoring(t, orgA, setA, id, sc)
	require.Equal(t, [][]uint16{counted(from, len(sc.Classes))}, s.windows(t, orgA, setA, id, sc.Model, 0, 5))
	// All of a large vocabulary would take as many searches.
	for i := 0; i < len(sc.Classes); i += 1 + len(sc.Classes)/60 {
		require.Equal(t, []uint16{uint16(from + i)}, s.found(t, sc.Model, sc.Classes[i], id), "class %q", sc.Classes[i])
	}
}

// putVocabulary stores such a scoring.
func (s *subject) putVocabulary(t *testing.T, v audiosearch.Video, sc audiosearch.Scoring, from int) {
	t.Helper()
	columns := make([][]uint16, len(sc.Classes))
	for i := range columns {
		columns[i] = []uint16{uint16(from + i)}
	}
	s.putScoring(t, orgA, setA, v, sc, columns)
}

// counted returns so many numbers that follow each other.
func counted(from, n int) []uint16 {
	row := make([]uint16, n)
	for i := range row {
		row[i] = uint16(from + i)
	}
	return row
}

// classRules are the rules of the names of classes.
var classRules = []rule{
	{Rule{"classes/names-are-exact", "Classes are the same if every byte of their names is; a name may have any text but U+0000, " +
		"and 255 bytes."}, needScores,
		func(t *testing.T, s *subject) {
			v, sc := s.withVideos(t, "v")[0], scoring(modelX, 1, exactClasses...)
			s.putVocabulary(t, v, sc, 100)
			s.hasVocabulary(t, "v", sc, 100)
			for i, class := range exactClasses {
				require.Equal(t, []uint16{uint16(100 + i)}, s.found(t, modelX, class, "v"), "class %q", class)
			}
			for _, class := range []sound.Class{"dOG", "Dog  ", "Dog\x01", "D", "%", "_og", "0", "0074", "NULL", "n"} {
				require.Empty(t, s.found(t, modelX, class, "v"), "class %q", class)
			}
		}},

	{Rule{"classes/order", "The classes of a scoring, and the scores of a segment, are in the order of the model, which is any."}, needScores,
		func(t *testing.T, s *subject) {
			v := s.withVideos(t, "v", "w")[0]
			for _, classes := range [][]sound.Class{
				{"z", "a", "m"}, {"10", "9", "1", "100"}, {"b", "B", "a", "A"}, {"only"}, vocabulary(300),
			} {
				s.putVocabulary(t, v, scoring(modelX, 1, classes...), 7)
				s.hasVocabulary(t, "v", scoring(modelX, 1, classes...), 7)
			}
		}},

	{Rule{"classes/of-each-scoring", "Scorings of several videos by one model may have other classes, and the same ones in another order: " +
		"each keeps its own."}, needScores,
		func(t *testing.T, s *subject) {
			videos := s.withVideos(t, "a", "b", "c", "d", "e")
			of := [][]sound.Class{{"x", "y", "z"}, {"z", "y", "x"}, {"y"}, {"new", "x"}, {"x", "y", "z"}}
			for i, v := range videos {
				s.putVocabulary(t, v, scoring(modelX, 1, of[i]...), 10*i)
			}
			for i, v := range videos {
				s.hasVocabulary(t, v.ID, scoring(modelX, 1, of[i]...), 10*i)
			}
			x := []string{"e 0 40", "d 0 31", "b 0 12", "a 0 0"}
			require.Equal(t, x, hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "x"})))
			require.Equal(t, []string{"d 0 30"}, hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: "new"})))
			s.putVocabulary(t, videos[0], scoring(modelX, 1, of[3]...), 50)
			s.hasVocabulary(t, "a", scoring(modelX, 1, of[3]...), 50)
			s.hasVocabulary(t, "e", scoring(modelX, 1, of[4]...), 40)
		}},

	{Rule{"classes/models-are-apart", "Classes of the same names by two models have nothing to do with each other."}, needScores,
		func(t *testing.T, s *subject) {
			videos := s.withVideos(t, "v", "w")
			x, y := vocabulary(40), slices.Clone(vocabulary(40)[3:])
			slices.Reverse(y)
			s.putVocabulary(t, videos[0], scoring(modelX, 1, x...), 100)
			s.putVocabulary(t, videos[0], scoring(modelY, 1, y...), 500)
			s.putVocabulary(t, videos[1], scoring(modelX, 1, x...), 200)
			s.hasVocabulary(t, "v", scoring(modelX, 1, x...), 100)
			s.hasVocabulary(t, "v", scoring(modelY, 1, y...), 500)
			s.hasVocabulary(t, "w", scoring(modelX, 1, x...), 200)
			require.Empty(t, s.found(t, modelY, x[0], "v"))
			require.Empty(t, s.found(t, modelY, y[0], "w"))
		}},

	{Rule{"classes/many", "A model may have 7,000 classes: its scores are stored, found, read, replaced and deleted like any others."}, needScores,
		func(t *testing.T, s *subject) {
			const classes, windows = 7000, 12
			videos := s.withVideos(t, "v", "w")
			sc, all := scoring(modelX, windows, vocabulary(classes)...), noise(1, windows, classes)
			s.putScoring(t, orgA, setA, videos[0], sc, all)
			s.putVocabulary(t, videos[1], scoring(modelX, 1, sc.Classes...), 1)
			has := func() {
				t.Helper()
				s.hasScoring(t, orgA, setA, "v", sc)
				rows := s.windows(t, orgA, setA, "v", modelX, 0, windows)
				for c := range classes {
					for i := range windows {
						if rows[i][c] != all[c][i] {
							require.Equal(t, all[c][i], rows[i][c], "segment %d, class %q", i, sc.Classes[c])
						}
					}
				}
				for c := 0; c < classes; c += 499 {
					want := slices.Sorted(slices.Values(all[c]))
					slices.Reverse(want)
					require.Equal(t, want, s.found(t, modelX, sc.Classes[c], "v"), "class %q", sc.Classes[c])
				}
				last := sc.Classes[classes-1]
				require.Len(t, s.found(t, modelX, last, "v"), windows)
			}
			has()
			all = noise(2, windows, classes)
			s.putScoring(t, orgA, setA, videos[0], sc, all)
			has()
			if _, ok := s.Scores.(audiosearch.Pruner); ok {
				s.compact(t)
				has()
			}
			s.hasVocabulary(t, "w", scoring(modelX, 1, sc.Classes...), 1)
			require.NoError(t, s.Catalog.DeleteVideo(t.Context(), orgA, setA, "w"))
			has()
			s.score(t, orgA, setA, videos[0], modelX, sc.Classes[5], 77)
			require.Equal(t, []uint16{77}, s.found(t, modelX, sc.Classes[5], "v"))
			require.Empty(t, s.found(t, modelX, sc.Classes[6], "v"))
		}},

	{Rule{"classes/most", "A model may have MaxClasses classes, with names of any length."}, needScores,
		func(t *testing.T, s *subject) {
			v := s.withVideos(t, "v")[0]
			classes := vocabulary(sound.MaxClasses)
			for i := range classes {
				if i%100 == 7 {
					classes[i] += sound.Class(strings.Repeat(".", 255-len(classes[i])))
				}
			}
			s.putVocabulary(t, v, scoring(modelX, 1, classes...), 1)
			s.hasVocabulary(t, "v", scoring(modelX, 1, classes...), 1)
		}},

	{Rule{"classes/change-by-and-by", "A model whose classes differ from video to video has all of them, however many there are in the end."}, needScores,
		func(t *testing.T, s *subject) {
			var ids []string
			for i := range 20 {
				ids = append(ids, fmt.Sprint("v", 10+i))
			}
			videos := s.withVideos(t, ids...)
			all, more := vocabulary(400), 200/len(videos)
			of := func(i int) audiosearch.Scoring { return scoring(modelX, 1, all[more*i:more*i+200]...) }
			for i, v := range videos {
				s.putVocabulary(t, v, of(i), 1000*i)
			}
			for i, v := range videos {
				s.hasVocabulary(t, v.ID, of(i), 1000*i)
			}
			require.Len(t, s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: all[199]}), len(videos))
			require.Len(t, s.search(t, orgA, setA, audiosearch.ScoreQuery{Class: all[0]}), 1)
		}},

	{Rule{"classes/durable", "The names of classes, and their order, outlive the process; new ones may join them."}, needScores | needReopen,
		func(t *testing.T, s *subject) {
			videos := s.withVideos(t, "v", "w")
			sc, next := scoring(modelX, 1, exactClasses...), scoring(modelX, 1, "zebra", "Dog", "aardvark")
			s.putVocabulary(t, videos[0], sc, 100)
			s.reopen(t)
			s.hasVocabulary(t, "v", sc, 100)
			s.putVocabulary(t, videos[1], next, 500)
			for range 2 {
				s.hasVocabulary(t, "v", sc, 100)
				s.hasVocabulary(t, "w", next, 500)
				s.reopen(t)
			}
		}},
}
