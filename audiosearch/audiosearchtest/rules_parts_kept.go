package audiosearchtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// partOtherRules say how long parts are kept, and what failures do to them.
var partOtherRules = []rule{
	{Rule{"parts/conflict-concurrent", "While the path of a video changes to and fro, no parts of one path " +
		"are ever those of a video that has the other."}, needParts,
		func(t *testing.T, s *subject) {
			at := [2]audiosearch.Video{s.withVideos(t, "v")[0], {ID: "v", Path: "moved.mp4"}}
			// Models of their own, so that parts of one path do not hide those of the other.
			of := [2]audiosearch.Scoring{scoring(modelX, 9, "7"), scoring(modelY, 9, "7")}
			conformance.Watch(t, 2, func(i int) error {
				_, err := s.Parts.PutPart(t.Context(), orgA, setA, partOf(at[i], of[i], 0), [][]uint16{{1, 2}})
				if isConflict(err) {
					return nil
				}
				return err
			}, 30, func(step int) {
				now := step % 2
				if step > 0 {
					s.inParts(t, 0, partOf(at[1-now], of[now], 0)) // it has the other path yet
				}
				s.put(t, orgA, setA, at[now])
				s.inParts(t, 0, partOf(at[now], of[1-now], 0))
			})
		}},

	{Rule{"parts/ended-context", endedText}, needParts,
		func(t *testing.T, s *subject) {
			s.withVideos(t, "v")
			allWork(t, s.partCalls())
			allFail(conformance.Ended(t), t, s.partCalls())
		}},

	{Rule{"parts/failure", brokenText}, needParts | needBreak,
		func(t *testing.T, s *subject) {
			v, sc, all := s.withVideos(t, "v")[0], scoring(modelX, 9, "7", "8"), noise(1, 9, 2)
			s.putParts(t, v, sc, all, 4, 6)
			heal := s.breakIt(t)
			allFail(t.Context(), t, s.partCalls())
			err := s.Scores.PutScoring(t.Context(), orgA, setA, v.ID, v.Path, sc, cut(all, 6, 9))
			isFailure(t, "PutScoring with parts", err)
			heal()
			s.inParts(t, 6, partOf(v, sc, 0))
			s.flip(t, v, sc, all, 6)
			s.hasScores(t, "v", sc, all)
			allWork(t, s.partCalls())
		}},

	{Rule{"parts/durable", "Parts outlive the process, and can be gone on with; so does the scoring that they become part of."}, needParts | needReopen,
		func(t *testing.T, s *subject) {
			v, sc, all := s.withVideos(t, "v")[0], scoring(modelX, 20, "7", "8"), noise(1, 20, 2)
			s.putParts(t, v, sc, all, 4, 6)
			first := 6
			for _, end := range []int{9, 13} {
				s.reopen(t)
				s.inParts(t, first, partOf(v, sc, 0))
				require.Equal(t, end, s.putPart(t, partOf(v, sc, first), cut(all, first, end)))
				first = end
			}
			s.reopen(t)
			s.flip(t, v, sc, all, 13)
			s.hasScores(t, "v", sc, all)
			s.reopen(t)
			s.hasScores(t, "v", sc, all)
			s.inParts(t, 0, partOf(v, sc, 0))
		}},

	{Rule{"compactor/parts", "Compact removes the parts that nobody has put or asked for since PartsBefore, and no other; " +
		"none if it is zero."}, needParts | needCompactor,
		func(t *testing.T, s *subject) {
			videos := s.withVideos(t, "a", "b", "c", "d")
			sc, all := scoring(modelX, 9, "7", "8"), noise(1, 9, 2)
			at := func(v audiosearch.Video, first int, when time.Duration) audiosearch.Part {
				p := partOf(v, sc, first)
				p.At = moment(when)
				return p
			}
			for _, v := range videos {
				s.putPart(t, at(v, 0, 0), cut(all, 0, 4))
			}
			s.putPart(t, at(videos[1], 4, 2*time.Hour), cut(all, 4, 6))
			s.inParts(t, 4, at(videos[2], 0, 2*time.Hour))
			s.compactBy(t, audiosearch.CompactOptions{})
			s.compactBy(t, audiosearch.CompactOptions{PartsBefore: moment(0)})
			s.inParts(t, 4, at(videos[3], 0, 0))
			s.compactBy(t, audiosearch.CompactOptions{PartsBefore: moment(time.Hour)})
			want := []int{0, 6, 4, 0}
			for i, v := range videos {
				s.inParts(t, want[i], at(v, 0, 2*time.Hour))
			}
			s.flip(t, videos[1], sc, all, 6)
			s.hasScores(t, "b", sc, all)
			s.compactBy(t, audiosearch.CompactOptions{PartsBefore: moment(100 * time.Hour)})
			s.inParts(t, 0, at(videos[2], 0, 0))
			s.hasScores(t, "b", sc, all)
		}},

	{Rule{"compactor/parts-of-all", "Compact removes the unused parts of every video, model, dataset and organization."}, needParts | needCompactor,
		func(t *testing.T, s *subject) {
			in := [][2]string{{orgA, setA}, {orgA, setB}, {orgB, setA}}
			v := video("v", nil)
			for _, at := range in {
				s.makeDataset(t, at[0], at[1])
				s.put(t, at[0], at[1], v)
				for _, model := range []string{modelX, modelY} {
					_, err := s.Parts.PutPart(t.Context(), at[0], at[1], partOf(v, scoring(model, 9, "7"), 0), noise(1, 3, 1))
					require.NoError(t, err)
				}
			}
			s.compactBy(t, audiosearch.CompactOptions{PartsBefore: moment(time.Microsecond)})
			for _, at := range in {
				for _, model := range []string{modelX, modelY} {
					s.inPartsOf(t, at[0], at[1], 0, partOf(v, scoring(model, 9, "7"), 0))
				}
			}
		}},
}
