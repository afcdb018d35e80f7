package audiosearchtest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// modelOtherRules say how long models and their scores are kept, and what failures do.
var modelOtherRules = []rule{
	{Rule{"models/one-step", "Whoever reads the models while one takes the place of another sees exactly one current model of the family."}, needModels,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			s.setModel(t, "", modelX, 0)
			conformance.Watch(t, 2, func(int) error {
				models, err := s.Models.Models(t.Context(), orgA, setA)
				current := 0
				for _, m := range models {
					if m.Current {
						current++
					}
					if m.Current != m.ReplacedAt.IsZero() {
						err = errors.Join(err, fmt.Errorf("during a change, %+v", m))
					}
				}
				if err == nil && current != 1 {
					err = fmt.Errorf("during a change, there are %d current models", current)
				}
				return err
			}, 30, func(n int) {
				at := []string{modelX, modelY}
				s.setModel(t, at[n%2], at[1-n%2], time.Duration(n)*time.Second)
			})
		}},

	{Rule{"models/complete-concurrent", "SetModel does not change to a model that lacks a video, also if From has scored that just then."}, needModels,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			s.setModel(t, "", modelX, 0)
			current := func(id string) bool {
				m, _ := s.model(t, orgA, setA, id)
				return m.Current
			}
			var v audiosearch.Video
			refused := false // as of now, until v is scored by Y
			conformance.Watch(t, 2, func(int) error {
				err := s.Models.SetModel(t.Context(), orgA, setA, change(modelX, modelY, 0))
				if isConflict(err) {
					return nil
				}
				return err
			}, 30, func(n int) {
				if n%2 == 1 {
					require.False(t, refused && current(modelY), "it has changed to a model that lacks a video")
					s.score(t, orgA, setA, v, modelY, "7", 20)
					return
				}
				v = s.put(t, orgA, setA, audiosearch.Video{ID: "v", Path: fmt.Sprint("path ", n)})
				if current(modelY) {
					back := change(modelY, modelX, 0)
					back.Incomplete = true
					require.NoError(t, s.Models.SetModel(t.Context(), orgA, setA, back))
				}
				s.score(t, orgA, setA, v, modelX, "7", 10)
				refused = current(modelX)
			})
		}},

	{Rule{"models/change-keeps-scores", "SetModel leaves the scores of both models: each is searched as before."}, needModels,
		func(t *testing.T, s *subject) {
			v := s.withVideos(t, "v")[0]
			s.score(t, orgA, setA, v, modelX, "7", 10)
			s.score(t, orgA, setA, v, modelY, "7", 20)
			want := s.answers(t)
			s.setModel(t, "", modelX, 0)
			require.Equal(t, want, s.answers(t))
			s.setModel(t, modelX, modelY, 0)
			require.Equal(t, want, s.answers(t))
		}},

	{Rule{"models/ended-context", endedText}, needModels,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			allFail(conformance.Ended(t), t, s.modelCalls())
			s.hasModels(t)
			allWork(t, s.modelCalls())
		}},

	{Rule{"models/failure", brokenText}, needModels | needBreak,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			s.setModel(t, "", modelX, 0)
			heal := s.breakIt(t)
			allFail(t.Context(), t, s.modelCalls())
			isFailure(t, "SetModel that conflicts", s.Models.SetModel(t.Context(), orgA, setA, change("", modelY, 0)))
			heal()
			s.hasModels(t, known(modelX, true, 0))
			allWork(t, s.modelCalls())
		}},

	{Rule{"models/durable", "What a dataset knows of models outlives the process."}, needModels | needReopen,
		func(t *testing.T, s *subject) {
			v := s.withVideos(t, "v")[0]
			s.score(t, orgA, setA, v, modelX, "7", 10)
			s.putScoring(t, orgA, setA, v, scoring("z/1", 1, "z", "a"), noise(1, 1, 2))
			s.setModel(t, "", modelX, 0)
			c := change(modelX, modelY, time.Hour+time.Microsecond)
			c.Incomplete = true
			require.NoError(t, s.Models.SetModel(t.Context(), orgA, setA, c))
			old := known(modelX, false, time.Hour+time.Microsecond)
			old.Classes = []sound.Class{"7"}
			for range 2 {
				s.reopen(t)
				s.hasModels(t, old, known(modelY, true, 0), audiosearch.DatasetModel{ID: "z/1", Classes: []sound.Class{"z", "a"}})
			}
			s.refusedModel(t, change(modelX, "z/1", 0))
			s.setModel(t, modelY, modelX, 0)
		}},

	{Rule{"compactor/replaced", "Compact removes the scores by models that were replaced before ReplacedBefore, and those of no other; " +
		"none if it is zero."}, needModels | needCompactor,
		func(t *testing.T, s *subject) {
			videos := s.withVideos(t, "v", "w")
			chain := []string{"a/1", "b/1", "c/1", "d/1"}
			for _, id := range append(chain, "never/1") {
				for _, v := range videos {
					s.score(t, orgA, setA, v, id, "7", 10, 20)
				}
			}
			from := ""
			for i, id := range chain {
				s.setModel(t, from, id, time.Duration(i)*time.Hour) // a is replaced after an hour, b after two, c after three
				from = id
			}
			left := func(ids ...string) {
				t.Helper()
				for _, id := range append(chain, "never/1") {
					want := 0
					for _, kept := range ids {
						if kept == id {
							want = 4
						}
					}
					require.Len(t, s.search(t, orgA, setA, audiosearch.ScoreQuery{Model: id, Class: "7"}), want, "scores by %s", id)
					if want == 0 {
						s.notScored(t, orgA, setA, "v", id)
						s.isUnscored(t, audiosearch.UnscoredQuery{Model: id}, 2, "v", "w")
						continue
					}
					s.hasScoring(t, orgA, setA, "w", scoring(id, 2, "7"))
				}
			}
			s.compactBy(t, audiosearch.CompactOptions{})
			left("a/1", "b/1", "c/1", "d/1", "never/1")
			s.compactBy(t, audiosearch.CompactOptions{ReplacedBefore: moment(2 * time.Hour)})
			left("b/1", "c/1", "d/1", "never/1")
			s.compactBy(t, audiosearch.CompactOptions{ReplacedBefore: moment(100 * time.Hour)})
			left("d/1", "never/1")
			m, ok := s.model(t, orgA, setA, "a/1")
			require.True(t, ok, "a model that was current is known")
			require.Equal(t, "f", m.Family)
		}},

	{Rule{"compactor/replaced-and-back", "Compact keeps the scores of a model that was replaced and is current again, " +
		"in its family or in another one."}, needModels | needCompactor,
		func(t *testing.T, s *subject) {
			v := s.withVideos(t, "v")[0]
			for _, id := range []string{modelX, modelY, "z/1"} {
				s.score(t, orgA, setA, v, id, "7", 10)
			}
			s.setModel(t, "", modelX, 0)
			s.setModel(t, modelX, modelY, 0)
			s.setModel(t, modelY, modelX, 0)
			other := audiosearch.ModelChange{Family: "g", To: modelY, At: moment(0)}
			require.NoError(t, s.Models.SetModel(t.Context(), orgA, setA, other))
			s.setModel(t, modelX, modelY, 0) // which is current in two families now
			s.setModel(t, modelY, "z/1", 0)
			s.compactBy(t, audiosearch.CompactOptions{ReplacedBefore: moment(time.Hour)})
			s.notScored(t, orgA, setA, "v", modelX)
			s.hasScoring(t, orgA, setA, "v", scoring(modelY, 1, "7"))
			s.hasScoring(t, orgA, setA, "v", scoring("z/1", 1, "7"))
			m, ok := s.model(t, orgA, setA, modelY)
			require.True(t, ok && m.Current, "%+v", m)
		}},

	{Rule{"compactor/replaced-apart", "What Compact removes in one dataset stays in others where the model is current."}, needModels | needCompactor,
		func(t *testing.T, s *subject) {
			in := [][2]string{{orgA, setA}, {orgA, setB}, {orgB, setA}}
			v := video("v", nil)
			for i, at := range in {
				s.makeDataset(t, at[0], at[1])
				s.put(t, at[0], at[1], v)
				s.score(t, at[0], at[1], v, modelX, "7", 10)
				s.score(t, at[0], at[1], v, modelY, "7", 10)
				pair := []string{modelX, modelY}
				if i == 1 {
					pair = []string{modelY, modelX}
				}
				require.NoError(t, s.Models.SetModel(t.Context(), at[0], at[1], change("", pair[0], 0)))
				require.NoError(t, s.Models.SetModel(t.Context(), at[0], at[1], change(pair[0], pair[1], 0)))
			}
			s.compactBy(t, audiosearch.CompactOptions{ReplacedBefore: moment(time.Hour)})
			for i, at := range in {
				for _, model := range []string{modelX, modelY} {
					want := 0
					if (model == modelY) != (i == 1) {
						want = 1
					}
					require.Len(t, s.search(t, at[0], at[1], audiosearch.ScoreQuery{Model: model, Class: "7"}), want, "%v %s", at, model)
				}
			}
		}},

	{Rule{"compactor/replaced-durable", "What Compact removed stays removed, and what it kept is there, " +
		"in the next process."}, needModels | needCompactor | needReopen,
		func(t *testing.T, s *subject) {
			v := s.withVideos(t, "v")[0]
			s.score(t, orgA, setA, v, modelX, "7", 10)
			s.score(t, orgA, setA, v, modelY, "7", 20)
			s.setModel(t, "", modelX, 0)
			s.setModel(t, modelX, modelY, 0)
			s.compactBy(t, audiosearch.CompactOptions{ReplacedBefore: moment(time.Hour)})
			s.reopen(t)
			s.notScored(t, orgA, setA, "v", modelX)
			require.Equal(t, []string{"v 0 20"}, hits(s.search(t, orgA, setA, audiosearch.ScoreQuery{Model: modelY, Class: "7"})))
		}},
}
