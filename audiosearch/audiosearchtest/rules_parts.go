package audiosearchtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// otherwise returns parts that differ from one by what a replacement looks at.
func otherwise(p audiosearch.Part) map[string]audiosearch.Part {
	media, digest, window, hop, classes, order := p, p, p, p, p, p
	media.Media = mediaN
	digest.Digest[31]++
	window.Window++
	hop.Hop += time.Microsecond
	classes.Classes = append([]sound.Class{"new"}, p.Classes[1:]...)
	order.Classes = append([]sound.Class{p.Classes[1], p.Classes[0]}, p.Classes[2:]...)
	return map[string]audiosearch.Part{
		"media": media, "digest": digest, "window": window, "hop": hop, "classes": classes, "order of classes": order,
	}
}

// partRules are the rules of PutPart and Parts.
var partRules = []rule{
	{Rule{"parts/no-dataset", "Each method of PartStore returns ErrDatasetNotFound if there is no such dataset, " +
		"or if another organization has it."}, needParts,
		func(t *testing.T, s *subject) {
			for _, c := range s.partCalls() {
				require.ErrorIs(t, c.do(t.Context(), orgA, setA), audiosearch.ErrDatasetNotFound, c.name)
			}
			s.withVideos(t, "v")
			for _, c := range s.partCalls() {
				require.NoError(t, c.do(t.Context(), orgA, setA), c.name)
				require.ErrorIs(t, c.do(t.Context(), orgA, setB), audiosearch.ErrDatasetNotFound, c.name)
				require.ErrorIs(t, c.do(t.Context(), orgB, setA), audiosearch.ErrDatasetNotFound, c.name)
			}
		}},

	{Rule{"parts/sequence", "PutPart returns how many segments, from the first of the video on, stand in parts then."}, needParts,
		func(t *testing.T, s *subject) {
			v, sc, all := s.withVideos(t, "v")[0], scoring(modelX, 20, "7", "8"), noise(1, 20, 2)
			s.inParts(t, 0, partOf(v, sc, 0))
			s.putParts(t, v, sc, all, 1, 5, 6, 20)
			s.inParts(t, 20, partOf(v, sc, 0))
		}},

	{Rule{"parts/gap", "If First is more than what stands in parts, nothing is stored, and the error is ErrConflict."}, needParts,
		func(t *testing.T, s *subject) {
			v, sc, all := s.withVideos(t, "v")[0], scoring(modelX, 20, "7", "8"), noise(1, 20, 2)
			refused := func(first int) {
				_, err := s.Parts.PutPart(t.Context(), orgA, setA, partOf(v, sc, first), cut(all, first, 20))
				require.ErrorIs(t, err, audiosearch.ErrConflict, "First is %d", first)
			}
			refused(1)
			s.inParts(t, 0, partOf(v, sc, 0))
			s.putParts(t, v, sc, all, 4, 7)
			refused(8)
			refused(19)
			s.inParts(t, 7, partOf(v, sc, 0))
			require.Equal(t, 20, s.putPart(t, partOf(v, sc, 7), cut(all, 7, 20)))
		}},

	{Rule{"parts/less", "If First is less than what stands in parts, somebody else has stored it, and nothing is stored: " +
		"PutPart returns how many stand there."}, needParts,
		func(t *testing.T, s *subject) {
			v, sc, all := s.withVideos(t, "v")[0], scoring(modelX, 12, "7", "8"), noise(1, 12, 2)
			other := noise(2, 12, 2)
			s.putParts(t, v, sc, all, 4, 8)
			for _, late := range [][2]int{{0, 4}, {4, 8}, {0, 2}, {3, 6}, {7, 8}, {0, 12}, {6, 12}} {
				require.Equal(t, 8, s.putPart(t, partOf(v, sc, late[0]), cut(other, late[0], late[1])), "segments %v", late)
			}
			s.flip(t, v, sc, all, 8)
			s.hasScores(t, "v", sc, all)
		}},

	{Rule{"parts/two-writers", "Two who store the parts of one video by turns come to one sequence without a gap, and each learns of " +
		"the other's parts from what PutPart returns."}, needParts,
		func(t *testing.T, s *subject) {
			v, sc, all := s.withVideos(t, "v")[0], scoring(modelX, 24, "7", "8"), noise(1, 24, 2)
			// One has parts of 3 segments, one of 4. Both go on from where they are told.
			at, sizes := [2]int{}, [2]int{3, 4}
			for turn := 0; at[0] < 24 && at[1] < 24; turn++ {
				i := (turn + 1) / 2 % 2
				end := min(at[i]+sizes[i], 24)
				stored := s.putPart(t, partOf(v, sc, at[i]), cut(all, at[i], end))
				require.GreaterOrEqual(t, stored, at[i])
				at[i] = stored
			}
			s.inParts(t, 24, partOf(v, sc, 0))
			s.flip(t, v, sc, all, 24)
			s.hasScores(t, "v", sc, all)
		}},

	{Rule{"parts/put-concurrent", "Of those who put the same part of one video at once, one stores it, whole, and all are told of it."}, needParts,
		func(t *testing.T, s *subject) {
			const writers = 8
			v, sc := s.withVideos(t, "v")[0], scoring(modelX, 3, "7", "8")
			var errs [writers]error
			var stored [writers]int
			conformance.Together(writers, func(i int) {
				stored[i], errs[i] = s.Parts.PutPart(t.Context(), orgA, setA, partOf(v, sc, 0), noise(uint64(i), 3, 2))
			})
			conformance.NoErrors(t, errs[:])
			for i := range stored {
				require.Equal(t, 3, stored[i], "what writer %d was told", i)
			}
			s.putScoring(t, orgA, setA, v, sc, [][]uint16{{}, {}})
			rows := s.windows(t, orgA, setA, "v", modelX, 0, 3)
			for i := range writers {
				if all := noise(uint64(i), 3, 2); all[0][0] == rows[0][0] {
					s.hasScores(t, "v", sc, all)
					return
				}
			}
			require.Fail(t, "the scores are nobody's")
		}},

	{Rule{"parts/other-replaces", "A part whose First is 0 replaces parts that differ in digest, window, hop or classes."}, needParts,
		func(t *testing.T, s *subject) {
			v, sc, all := s.withVideos(t, "v")[0], scoring(modelX, 20, "7", "8", "9"), noise(1, 20, 3)
			p := partOf(v, sc, 0)
			for what, other := range otherwise(p) {
				s.putPart(t, p, cut(all, 0, 4))
				require.Equal(t, 7, s.putPart(t, other, cut(all, 4, 11)), "another %s", what)
				s.inParts(t, 7, other)
				s.inParts(t, 0, p)
				other.First = 7
				require.Equal(t, 8, s.putPart(t, other, cut(all, 11, 12)), "another %s", what)
			}
		}},

	{Rule{"parts/other-follows-nothing", "A part that differs in digest, window, hop or classes does not follow the parts that stand there: " +
		"if its First is over 0, the error is ErrConflict, and they stay."}, needParts,
		func(t *testing.T, s *subject) {
			v, sc, all := s.withVideos(t, "v")[0], scoring(modelX, 20, "7", "8", "9"), noise(1, 20, 3)
			s.putParts(t, v, sc, all, 4)
			for what, other := range otherwise(partOf(v, sc, 0)) {
				for _, first := range []int{1, 4, 5} {
					other.First = first
					_, err := s.Parts.PutPart(t.Context(), orgA, setA, other, cut(all, first, 10))
					require.ErrorIs(t, err, audiosearch.ErrConflict, "another %s, First is %d", what, first)
				}
			}
			s.inParts(t, 4, partOf(v, sc, 0))
		}},

	{Rule{"parts/count", "Parts returns how many segments, from the first of the video on, stand in parts like the given one. First does not count."}, needParts,
		func(t *testing.T, s *subject) {
			v, sc, all := s.withVideos(t, "v", "w")[0], scoring(modelX, 20, "7", "8", "9"), noise(1, 20, 3)
			s.putParts(t, v, sc, all, 4, 9)
			for _, first := range []int{0, 4, 9, 100} {
				s.inParts(t, 9, partOf(v, sc, first))
			}
			for _, other := range otherwise(partOf(v, sc, 0)) {
				s.inParts(t, 0, other)
			}
			s.inParts(t, 9, partOf(v, sc, 0))
			s.inParts(t, 0, partOf(video("w", nil), sc, 0))
		}},

	{Rule{"parts/conflict", "If the video is gone, or its path is not the part's any more, PutPart and Parts are ErrConflict, " +
		"and nothing is stored."}, needParts,
		func(t *testing.T, s *subject) {
			v, sc := s.withVideos(t, "v", "w")[0], scoring(modelX, 2, "7")
			refused := func(v audiosearch.Video) {
				_, err := s.Parts.Parts(t.Context(), orgA, setA, partOf(v, sc, 0))
				require.ErrorIs(t, err, audiosearch.ErrConflict, "Parts of %q at %q", v.ID, v.Path)
				_, err = s.Parts.PutPart(t.Context(), orgA, setA, partOf(v, sc, 0), [][]uint16{{1, 2}})
				require.ErrorIs(t, err, audiosearch.ErrConflict, "PutPart of %q at %q", v.ID, v.Path)
			}
			refused(video("nobody", nil))
			for _, path := range []string{"", "Videos/v.mp4", "videos/v.mp4 ", "videos/w.mp4"} {
				refused(audiosearch.Video{ID: "v", Path: path})
			}
			s.inParts(t, 0, partOf(v, sc, 0))
			moved := audiosearch.Video{ID: "v", Path: "moved.mp4"}
			s.put(t, orgA, setA, moved)
			refused(v)
			s.inParts(t, 0, partOf(moved, sc, 0))
			require.NoError(t, s.Catalog.DeleteVideo(t.Context(), orgA, setA, "w"))
			refused(video("w", nil))
		}},

	{Rule{"parts/copies", "The store keeps nothing of the part that it is given: its classes and columns are the caller's to change."}, needParts,
		func(t *testing.T, s *subject) {
			v, sc, all := s.withVideos(t, "v")[0], scoring(modelX, 6, "7", "8"), noise(1, 6, 2)
			for _, ends := range [][2]int{{0, 2}, {2, 4}} {
				p, given := partOf(v, sc, ends[0]), cut(all, ends[0], ends[1])
				s.putPart(t, p, given)
				p.Classes[0], given[0][0], given[1] = "3", 999, nil
			}
			s.inParts(t, 4, partOf(v, sc, 0))
			given := cut(all, 4, 6)
			s.putScoring(t, orgA, setA, v, sc, given)
			given[0][0], given[1] = 999, nil
			s.hasScores(t, "v", sc, all)
		}},

	{Rule{"parts/many", "A scoring may come in many parts, of many classes, and all of its scores are as they were put."}, needParts,
		func(t *testing.T, s *subject) {
			const windows = 3000
			v, sc := s.withVideos(t, "v")[0], scoring(modelX, windows, vocabulary(20)...)
			all := noise(4, windows, 20)
			var ends []int
			for end := 1; end < windows; end += 1 + end%97 {
				ends = append(ends, end)
			}
			s.putParts(t, v, sc, all, ends...)
			s.flip(t, v, sc, all, ends[len(ends)-1])
			s.hasScores(t, "v", sc, all)
		}},
}
