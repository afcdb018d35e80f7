package audiosearchtest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// flipRules say what becomes of parts.
var flipRules = []rule{
	{Rule{"parts/invisible", "Nobody sees the scores of parts before the whole video is scored: Search, Unscored, Scorings, WindowScores " +
		"and the scores before answer as without them."}, needParts,
		func(t *testing.T, s *subject) {
			videos := s.withVideos(t, "v", "w", "x")
			s.score(t, orgA, setA, videos[1], modelX, "7", 10, 20)
			s.putScoring(t, orgA, setA, videos[2], problem(modelX, "no sound"), nil)
			want := s.answers(t)
			for _, v := range videos {
				s.putParts(t, v, scoring(modelX, 9, "7", "8"), noise(1, 9, 2), 3, 9)
				s.putParts(t, v, scoring(modelY, 9, "7", "8"), noise(1, 9, 2), 9)
			}
			require.Equal(t, want, s.answers(t))
			s.notScored(t, orgA, setA, "v", modelX)
		}},

	{Rule{"parts/models-do-not-show", "A model that there are only parts of is none that Models knows."}, needParts | needModels,
		func(t *testing.T, s *subject) {
			v, sc := s.withVideos(t, "v")[0], scoring(modelX, 9, "7", "8")
			s.putParts(t, v, sc, noise(1, 9, 2), 9)
			s.hasModels(t)
			s.setModel(t, "", modelX, 0)
			s.hasModels(t, audiosearch.DatasetModel{ID: modelX, Family: "f", Current: true})
			s.putScoring(t, orgA, setA, v, sc, [][]uint16{{}, {}})
			s.hasModels(t, audiosearch.DatasetModel{ID: modelX, Family: "f", Current: true, Classes: sc.Classes})
		}},

	{Rule{"parts/flip-rest", "PutScoring with the scores of the last segments stores those of the parts before them as well: " +
		"they become part of the scoring, in their order."}, needParts,
		func(t *testing.T, s *subject) {
			videos := s.withVideos(t, "v", "w")
			sc, all := scoring(modelX, 20, "7", "8"), noise(1, 20, 2)
			s.putParts(t, videos[0], sc, all, 1, 5, 13)
			s.flip(t, videos[0], sc, all, 13)
			s.hasScores(t, "v", sc, all)
			half, some := partly(modelY, "cut off", 7, "8", "7", "9"), noise(2, 7, 3)
			s.putParts(t, videos[1], half, some, 6)
			s.flip(t, videos[1], half, some, 6)
			s.hasScores(t, "w", half, some)
		}},

	{Rule{"parts/flip-all", "All segments of a scoring may stand in parts: then there is none left in the columns of PutScoring."}, needParts,
		func(t *testing.T, s *subject) {
			v, sc, all := s.withVideos(t, "v")[0], scoring(modelX, 9, "7", "8"), noise(1, 9, 2)
			s.putParts(t, v, sc, all, 4, 9)
			s.putScoring(t, orgA, setA, v, sc, [][]uint16{{}, {}})
			s.hasScores(t, "v", sc, all)
			again := noise(2, 9, 2)
			s.putParts(t, v, sc, again, 9)
			s.putScoring(t, orgA, setA, v, sc, [][]uint16{nil, nil})
			s.hasScores(t, "v", sc, again)
		}},

	{Rule{"parts/flip-conflict", "If the parts before the last segments are not there, PutScoring stores nothing, the error is ErrConflict, " +
		"and parts and scores stay as they are."}, needParts,
		func(t *testing.T, s *subject) {
			v := s.withVideos(t, "v", "w")[0]
			old, before := scoring(modelX, 3, "7", "8", "9"), noise(1, 3, 3)
			s.putScoring(t, orgA, setA, v, old, before)
			sc, all := scoring(modelX, 20, "7", "8", "9"), noise(2, 20, 3)
			refused := func(what string, v audiosearch.Video, sc audiosearch.Scoring, columns [][]uint16) {
				t.Helper()
				err := s.Scores.PutScoring(t.Context(), orgA, setA, v.ID, v.Path, sc, columns)
				require.ErrorIs(t, err, audiosearch.ErrConflict, what)
			}
			refused("no parts", v, sc, cut(all, 10, 20))
			refused("no parts, and nothing else", v, sc, [][]uint16{{}, {}, {}})
			s.putParts(t, v, sc, all, 4, 10)
			refused("too few", v, sc, cut(all, 11, 20))
			refused("too few, and nothing else", v, sc, [][]uint16{{}, {}, {}})
			refused("another video", video("w", nil), sc, cut(all, 10, 20))
			// This is a mistake, and no conflict; it must not do harm.
			require.Error(t, s.Scores.PutScoring(t.Context(), orgA, setA, v.ID, v.Path, sc, noise(2, 21, 3)), "more scores than segments")
			for what, p := range otherwise(partOf(v, sc, 0)) {
				other := sc
				other.Media, other.Digest, other.Window, other.Hop, other.Classes = p.Media, p.Digest, p.Window, p.Hop, p.Classes
				refused("another "+what, v, other, cut(all, 10, 20))
			}
			other := sc
			other.Model = modelY
			refused("another model", v, other, cut(all, 10, 20))
			s.hasScores(t, "v", old, before)
			s.notScored(t, orgA, setA, "w", modelX)
			s.notScored(t, orgA, setA, "v", modelY)
			s.inParts(t, 10, partOf(v, sc, 0))
			s.flip(t, v, sc, all, 10)
			s.hasScores(t, "v", sc, all)
		}},

	{Rule{"parts/flip-beside-others", "If somebody else has stored further parts meanwhile, PutScoring stores the first ones, as many as PutPart " +
		"has said, with its columns, or nothing, and is ErrConflict then."}, needParts,
		func(t *testing.T, s *subject) {
			v, sc, all := s.withVideos(t, "v")[0], scoring(modelX, 12, "7", "8"), noise(1, 12, 2)
			s.putParts(t, v, sc, all, 4, 8, 10)
			err := s.Scores.PutScoring(t.Context(), orgA, setA, v.ID, v.Path, sc, cut(all, 8, 12))
			if !isConflict(err) {
				require.NoError(t, err)
				s.hasScores(t, "v", sc, all)
				return
			}
			s.notScored(t, orgA, setA, "v", modelX)
			s.inParts(t, 10, partOf(v, sc, 0))
			s.flip(t, v, sc, all, 10)
			s.hasScores(t, "v", sc, all)
		}},

	{Rule{"parts/gone-after-flip", "When a scoring is stored, all parts of the video and model are gone, also if it needed none of them."}, needParts,
		func(t *testing.T, s *subject) {
			v, sc, all := s.withVideos(t, "v")[0], scoring(modelX, 9, "7", "8"), noise(1, 9, 2)
			otherModel := scoring(modelY, 9, "7", "8")
			s.putParts(t, v, otherModel, all, 5)
			for _, stored := range []func(){
				func() { s.flip(t, v, sc, all, 6) },
				func() { s.flip(t, v, sc, all, 0) },
				func() { s.putScoring(t, orgA, setA, v, problem(modelX, "no sound"), nil) },
			} {
				s.putParts(t, v, sc, all, 3, 6)
				stored()
				s.inParts(t, 0, partOf(v, sc, 0))
			}
			s.inParts(t, 5, partOf(v, otherModel, 0))
			s.putParts(t, v, sc, all, 2)
		}},

	{Rule{"parts/gone-with-the-path", "When the path of a video changes, its parts are gone, by all models; otherwise PutVideos leaves them."}, needParts,
		func(t *testing.T, s *subject) {
			videos := s.withVideos(t, "v", "w")
			all := noise(1, 9, 2)
			for _, model := range []string{modelX, modelY} {
				for _, v := range videos {
					s.putParts(t, v, scoring(model, 9, "7", "8"), all, 5)
				}
			}
			s.put(t, orgA, setA, video("v", everyKind()))
			s.inParts(t, 5, partOf(videos[0], scoring(modelX, 9, "7", "8"), 0))
			moved := audiosearch.Video{ID: "v", Path: "moved.mp4"}
			for range 2 {
				s.put(t, orgA, setA, moved)
				for _, model := range []string{modelX, modelY} {
					s.inParts(t, 0, partOf(moved, scoring(model, 9, "7", "8"), 0))
					s.inParts(t, 5, partOf(videos[1], scoring(model, 9, "7", "8"), 0))
				}
				moved = videos[0]
			}
		}},

	{Rule{"parts/gone-with-the-video", "DeleteVideo removes the parts of a video, and those of no other; a new video of its ID has none."}, needParts,
		func(t *testing.T, s *subject) {
			videos := s.withVideos(t, "v", "w")
			sc, all := scoring(modelX, 9, "7", "8"), noise(1, 9, 2)
			for _, v := range videos {
				s.putParts(t, v, sc, all, 5)
			}
			require.NoError(t, s.Catalog.DeleteVideo(t.Context(), orgA, setA, "v"))
			s.put(t, orgA, setA, videos[0])
			s.inParts(t, 0, partOf(videos[0], sc, 0))
			s.inParts(t, 5, partOf(videos[1], sc, 0))
		}},

	{Rule{"parts/gone-with-the-dataset", "DeleteDataset removes the parts of its videos; a new dataset of its ID has none."}, needParts,
		func(t *testing.T, s *subject) {
			v, sc := s.withVideos(t, "v")[0], scoring(modelX, 9, "7", "8")
			s.putParts(t, v, sc, noise(1, 9, 2), 5)
			require.NoError(t, s.Datasets.DeleteDataset(t.Context(), orgA, setA))
			s.withVideos(t, "v")
			s.inParts(t, 0, partOf(v, sc, 0))
		}},

	{Rule{"parts/apart", "Parts of a video by one model are not those by another, nor of another video, dataset or organization; " +
		"videos and models are the same if every byte of their IDs is."}, needParts,
		func(t *testing.T, s *subject) {
			v, all := s.withVideos(t, exactNames...)[0], noise(1, 99, 1)
			in := [][2]string{{orgA, setA}, {orgA, setB}, {orgB, setA}}
			for i, at := range in {
				if i > 0 {
					s.makeDataset(t, at[0], at[1])
					s.put(t, at[0], at[1], v)
				}
				stored, err := s.Parts.PutPart(t.Context(), at[0], at[1], partOf(v, scoring(modelY, 99, "7"), 0), cut(all, 0, 50+i))
				require.NoError(t, err)
				require.Equal(t, 50+i, stored)
			}
			for i, name := range exactNames {
				s.putParts(t, v, scoring(name, 99, "7"), all, 1+i)
				s.putParts(t, video(name, nil), scoring(modelX, 99, "7"), all, 20+i)
			}
			for i, name := range exactNames {
				s.inParts(t, 1+i, partOf(v, scoring(name, 99, "7"), 0))
				s.inParts(t, 20+i, partOf(video(name, nil), scoring(modelX, 99, "7"), 0))
			}
			for i, at := range in {
				s.inPartsOf(t, at[0], at[1], 50+i, partOf(v, scoring(modelY, 99, "7"), 0))
			}
		}},

	{Rule{"parts/flip-is-one-step", "PutScoring with parts replaces in one step: a search sees the old scores or the new ones, never both, " +
		"none, or those of some parts."}, needParts,
		func(t *testing.T, s *subject) {
			v := s.withVideos(t, "v")[0]
			sc, scores := generation(0)
			s.putScoring(t, orgA, setA, v, sc, scores)
			conformance.Watch(t, 2, func(int) error {
				found, err := s.Scores.Search(t.Context(), orgA, setA, audiosearch.ScoreQuery{Model: modelX, Class: "7", Limit: 10})
				if err != nil {
					return err
				}
				for _, h := range found {
					if len(found) != int(h.Score)-99 {
						return fmt.Errorf("a search during a replacement found %v", hits(found))
					}
				}
				if len(found) == 0 {
					return fmt.Errorf("a search during a replacement found nothing")
				}
				return nil
			}, 40, func(n int) {
				sc, scores := generation(n)
				from := min(n%3, 1+n%2)
				if from > 0 {
					s.putParts(t, v, sc, scores, from)
				}
				s.flip(t, v, sc, scores, from)
			})
		}},
}
