package audiosearchtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// known is what a dataset knows of a model that it never had a scoring of.
func known(id string, current bool, replaced time.Duration) audiosearch.DatasetModel {
	m := audiosearch.DatasetModel{ID: id, Family: "f", Current: current}
	if !current {
		m.ReplacedAt = moment(replaced)
	}
	return m
}

// refusedModel requires that a change of setA is ErrConflict, and changes nothing.
func (s *subject) refusedModel(t *testing.T, c audiosearch.ModelChange) {
	t.Helper()
	before, err := s.Models.Models(t.Context(), orgA, setA)
	require.NoError(t, err)
	require.ErrorIs(t, s.Models.SetModel(t.Context(), orgA, setA, c), audiosearch.ErrConflict, "%+v", c)
	s.hasModels(t, before...)
}

// modelRules are the rules of ModelStore.
var modelRules = []rule{
	{Rule{"models/no-dataset", "Each method of ModelStore returns ErrDatasetNotFound if there is no such dataset, " +
		"or if another organization has it."}, needModels,
		func(t *testing.T, s *subject) {
			for _, c := range s.modelCalls() {
				require.ErrorIs(t, c.do(t.Context(), orgA, setA), audiosearch.ErrDatasetNotFound, c.name)
			}
			s.makeDataset(t, orgA, setA)
			for _, c := range s.modelCalls() {
				require.NoError(t, c.do(t.Context(), orgA, setA), c.name)
				require.ErrorIs(t, c.do(t.Context(), orgA, setB), audiosearch.ErrDatasetNotFound, c.name)
				require.ErrorIs(t, c.do(t.Context(), orgB, setA), audiosearch.ErrDatasetNotFound, c.name)
			}
		}},

	{Rule{"models/none", "A dataset without scorings, whose models nobody has set, knows no model."}, needModels,
		func(t *testing.T, s *subject) {
			s.withVideos(t, "v")
			s.hasModels(t)
		}},

	{Rule{"models/first", "SetModel makes a model the current one of a family that has none, whether there are scores or not."}, needModels,
		func(t *testing.T, s *subject) {
			v := s.withVideos(t, "v", "w")[0]
			s.score(t, orgA, setA, v, modelY, "7", 10)
			s.setModel(t, "", modelX, 0)
			s.hasModels(t, known(modelX, true, 0), audiosearch.DatasetModel{ID: modelY, Classes: []sound.Class{"7"}})
		}},

	{Rule{"models/conflict", "If From is not the current model of the family, SetModel changes nothing, and the error is ErrConflict, " +
		"Incomplete or not."}, needModels,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			for _, incomplete := range []bool{false, true} {
				refused := func(from, to string) {
					t.Helper()
					c := change(from, to, time.Hour)
					c.Incomplete = incomplete
					s.refusedModel(t, c)
				}
				if !incomplete {
					refused(modelX, modelY)
					s.setModel(t, "", modelX, 0)
				}
				refused("", modelY)
				refused("", modelX)
				refused(modelY, "z/1")
				refused("X/1", modelY)
				refused("x/1 ", modelY)
			}
			s.setModel(t, modelX, modelY, time.Hour)
			s.refusedModel(t, change(modelX, "z/1", time.Hour))
			s.hasModels(t, known(modelX, false, time.Hour), known(modelY, true, 0))
		}},

	{Rule{"models/incomplete", "SetModel is ErrConflict and changes nothing if there is a video that has scores by From and no scoring by To."}, needModels,
		func(t *testing.T, s *subject) {
			videos := s.withVideos(t, "v", "w", "x")
			s.setModel(t, "", modelX, 0)
			s.score(t, orgA, setA, videos[0], modelX, "7", 10)
			s.putScoring(t, orgA, setA, videos[1], partly(modelX, "cut off", 1, "7"), [][]uint16{{10}})
			for _, v := range videos[:2] {
				s.refusedModel(t, change(modelX, modelY, time.Hour))
				s.score(t, orgA, setA, v, modelY, "7", 20)
			}
			s.setModel(t, modelX, modelY, time.Hour)
			m, ok := s.model(t, orgA, setA, modelY)
			require.True(t, ok && m.Current, "%+v", m)
		}},

	{Rule{"models/tried", "A video that To has a Problem with, and no scores, has a scoring by To."}, needModels,
		func(t *testing.T, s *subject) {
			v := s.withVideos(t, "v")[0]
			s.setModel(t, "", modelX, 0)
			s.score(t, orgA, setA, v, modelX, "7", 10)
			s.putScoring(t, orgA, setA, v, problem(modelY, "no sound"), nil)
			s.setModel(t, modelX, modelY, time.Hour)
		}},

	{Rule{"models/never-scored", "A video that From has a Problem with, and no scores, need not be scored by To; nor one that is gone, " +
		"or whose path has changed."}, needModels,
		func(t *testing.T, s *subject) {
			videos := s.withVideos(t, "v", "w", "x", "y")
			s.setModel(t, "", modelX, 0)
			s.putScoring(t, orgA, setA, videos[0], problem(modelX, "no sound"), nil)
			s.score(t, orgA, setA, videos[1], modelX, "7", 10)
			s.score(t, orgA, setA, videos[2], modelX, "7", 10)
			require.NoError(t, s.Catalog.DeleteVideo(t.Context(), orgA, setA, "w"))
			s.refusedModel(t, change(modelX, modelY, time.Hour))
			s.put(t, orgA, setA, audiosearch.Video{ID: "x", Path: "moved.mp4"})
			s.setModel(t, modelX, modelY, time.Hour)
		}},

	{Rule{"models/incomplete-if-asked", "With Incomplete, SetModel changes to a model that lacks videos that the old one has."}, needModels,
		func(t *testing.T, s *subject) {
			v := s.withVideos(t, "v")[0]
			s.setModel(t, "", modelX, 0)
			s.score(t, orgA, setA, v, modelX, "7", 10)
			c := change(modelX, modelY, time.Hour)
			s.refusedModel(t, c)
			c.Incomplete = true
			require.NoError(t, s.Models.SetModel(t.Context(), orgA, setA, c))
			old := known(modelX, false, time.Hour)
			old.Classes = []sound.Class{"7"}
			s.hasModels(t, old, known(modelY, true, 0))
			s.hasScoring(t, orgA, setA, "v", scoring(modelX, 1, "7"))
		}},

	{Rule{"models/replaced", "The model before is replaced as of At; one that becomes current again is not replaced any more."}, needModels,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			s.setModel(t, "", modelX, 0)
			s.hasModels(t, known(modelX, true, 0))
			s.setModel(t, modelX, modelY, time.Microsecond)
			s.hasModels(t, known(modelX, false, time.Microsecond), known(modelY, true, 0))
			s.setModel(t, modelY, modelX, time.Hour)
			s.hasModels(t, known(modelX, true, 0), known(modelY, false, time.Hour))
			s.setModel(t, modelX, "z/1", 2*time.Hour)
			s.hasModels(t, known(modelX, false, 2*time.Hour), known(modelY, false, time.Hour), known("z/1", true, 0))
		}},

	{Rule{"models/families-are-apart", "Each family has a current model of its own; families are the same if every byte of their names is."}, needModels,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgA, setA)
			of := func(i int, from, to string) audiosearch.ModelChange {
				return audiosearch.ModelChange{Family: exactNames[i], From: from, To: to, At: moment(time.Duration(i) * time.Hour)}
			}
			var want []audiosearch.DatasetModel
			for i, family := range exactNames {
				first, next := fmt.Sprintf("%02d/1", i), fmt.Sprintf("%02d/2", i)
				require.NoError(t, s.Models.SetModel(t.Context(), orgA, setA, of(i, "", first)))
				require.ErrorIs(t, s.Models.SetModel(t.Context(), orgA, setA, of(i, "", next)), audiosearch.ErrConflict)
				if i%2 == 0 {
					want = append(want, audiosearch.DatasetModel{ID: first, Family: family, Current: true})
					continue
				}
				require.NoError(t, s.Models.SetModel(t.Context(), orgA, setA, of(i, first, next)))
				want = append(want, audiosearch.DatasetModel{ID: first, Family: family, ReplacedAt: moment(time.Duration(i) * time.Hour)},
					audiosearch.DatasetModel{ID: next, Family: family, Current: true})
			}
			s.hasModels(t, want...)
		}},

	{Rule{"models/list", "Models returns the models that are or were current, and those that videos were scored by, each once, " +
		"by ID, byte by byte, with the classes of its latest scoring in their order."}, needModels,
		func(t *testing.T, s *subject) {
			videos := s.withVideos(t, "v", "w")
			var want []audiosearch.DatasetModel
			for i, id := range orderedNames {
				m := audiosearch.DatasetModel{ID: id}
				if i%3 > 0 {
					m.Classes = []sound.Class{"z", "a", sound.Class(id)}
				}
				if i%3 < 2 {
					m.Family, m.Current = "family "+id, true
				}
				want = append(want, m)
			}
			for _, i := range scattered(len(want)) {
				m := want[i]
				if m.Classes != nil {
					s.putScoring(t, orgA, setA, videos[0], scoring(m.ID, 1, "7", "8"), noise(1, 1, 2))
				}
				if m.Current {
					c := audiosearch.ModelChange{Family: m.Family, To: m.ID, At: moment(0)}
					require.NoError(t, s.Models.SetModel(t.Context(), orgA, setA, c))
				}
				if m.Classes != nil {
					s.putScoring(t, orgA, setA, videos[1], scoring(m.ID, 2, m.Classes...), noise(1, 2, 3))
				}
			}
			s.hasModels(t, want...)
		}},

	{Rule{"models/datasets-are-apart", "Models of one dataset are not those of another, nor those of another organization's."}, needModels,
		func(t *testing.T, s *subject) {
			in := [][2]string{{orgA, setA}, {orgA, setB}, {orgB, setA}}
			for i, at := range in {
				s.makeDataset(t, at[0], at[1])
				s.hasModelsOf(t, at[0], at[1])
				require.NoError(t, s.Models.SetModel(t.Context(), at[0], at[1], change("", fmt.Sprint("m/", i), 0)))
			}
			require.NoError(t, s.Models.SetModel(t.Context(), orgA, setB, change("m/1", "m/0", time.Hour)))
			s.hasModelsOf(t, orgA, setA, known("m/0", true, 0))
			s.hasModelsOf(t, orgA, setB, known("m/0", true, 0), known("m/1", false, time.Hour))
			s.hasModelsOf(t, orgB, setA, known("m/2", true, 0))
		}},

	{Rule{"models/gone-with-the-dataset", "DeleteDataset removes what the dataset knows of models, and nothing of another; " +
		"a new dataset of its ID knows none."}, needModels,
		func(t *testing.T, s *subject) {
			s.makeDataset(t, orgB, setA)
			require.NoError(t, s.Models.SetModel(t.Context(), orgB, setA, change("", modelX, 0)))
			s.score(t, orgA, setA, s.withVideos(t, "v")[0], modelY, "7", 10)
			s.setModel(t, "", modelX, 0)
			s.setModel(t, modelX, modelY, 0)
			require.NoError(t, s.Datasets.DeleteDataset(t.Context(), orgA, setA))
			s.makeDataset(t, orgA, setA)
			s.hasModels(t)
			s.setModel(t, "", "z/1", 0)
			s.hasModelsOf(t, orgB, setA, known(modelX, true, 0))
		}},

	{Rule{"models/set-concurrent", "Of several who change the current model of a family at once, one does, and it is the current one then: " +
		"the others get ErrConflict."}, needModels,
		func(t *testing.T, s *subject) {
			const workers = 6
			s.makeDataset(t, orgA, setA)
			from := ""
			for round := range 3 {
				var errs [workers]error
				conformance.Together(workers, func(i int) {
					errs[i] = s.Models.SetModel(t.Context(), orgA, setA, change(from, fmt.Sprint("m/", round, "/", i), 0))
				})
				current, won := "", 0
				for i, err := range errs {
					if err == nil {
						current = fmt.Sprint("m/", round, "/", i)
						won++
						continue
					}
					require.ErrorIs(t, err, audiosearch.ErrConflict)
				}
				require.Equal(t, 1, won, "how many changed it")
				m, ok := s.model(t, orgA, setA, current)
				require.True(t, ok && m.Current, "%+v", m)
				models, err := s.Models.Models(t.Context(), orgA, setA)
				require.NoError(t, err)
				require.Len(t, models, round+1)
				from = current
			}
		}},
}
