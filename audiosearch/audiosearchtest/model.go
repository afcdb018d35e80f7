package audiosearchtest

import (
	"testing"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// ModelOptions are the settings of [RunModel]. The zero value means the defaults.
type ModelOptions struct {
	Sequences int    // how many: 25, or 500 if the environment has MORTISE_SOAK=1
	Steps     int    // of each sequence, which compares after every fourth: 80
	Seed      uint64 // of the first sequence, the next one has the next: MORTISE_SEED, 1, or a random one if MORTISE_SOAK=1
}

// RunModel makes random calls to a backend, and the same ones to a plain model of it:
// videos with metadata of every kind, scores with many ties, parts, replacements,
// deletions, changes of the current model, compactions and reopenings. After every fourth
// step comes a case: random filters, classes, pages and ranges, for which Search, Unscored,
// WindowScores, Scorings, Parts, Models, MissingKeys, ListVideos and Videos must answer what
// the model does; that makes 500 cases, or 10,000 in a soak. A failure prints the seed and
// the steps. It needs Datasets, Catalog and Scores, and skips without; Parts and Models are
// called if they are there. Options may be nil.
func RunModel(t *testing.T, h Harness, opts *ModelOptions) {
	t.Helper()
	model := conformance.Model{Sequences: 25, Soak: 500, Steps: 80}
	model.Run(t, (*conformance.ModelOptions)(opts), func(s *conformance.Sequence) {
		r := &run{Sequence: s, subject: h.open(s.T), model: make(map[place]oracleDataset), known: make(map[place]*oracleModels)}
		if reason := conformance.Lacks(r.subject.parts, needScores); reason != "" {
			s.Skip(reason)
		}
		for _, p := range places() {
			r.makeDataset(p)
		}
		for range 6 {
			r.putVideos()
			r.putScores()
		}
		r.Play(conformance.Steps{
			{1, r.dataset}, {25, r.putVideos}, {6, r.deleteVideo}, {50, r.putScores}, {4, r.putProblem}, {4, r.putOutdated},
			{10, r.putPart}, {4, r.flip}, {6, r.setModel}, {6, r.compact}, {1, r.reopen},
		}, 4, r.compare)
		for _, p := range places() {
			r.compareVideos(p)
		}
	})
}

// run is one sequence: a backend, the model of it, and what was done to both.
type run struct {
	*conformance.Sequence
	subject *subject
	model   map[place]oracleDataset
	known   map[place]*oracleModels
	values  []oracleValue // that many videos have
}

// place is where a dataset is.
type place struct{ org, dataset string }

func places() []place { return []place{{orgA, setA}, {orgA, setB}, {orgB, setA}} }

// place returns where one of the datasets is, most often the first.
func (r *run) place() place {
	if r.IntN(4) > 0 {
		return places()[0]
	}
	return pick(r, places()...)
}

// video returns the ID of a video that is there, or may be.
func (r *run) video(p place) string {
	if ids := r.model[p].matching(nil); len(ids) > 0 && r.IntN(10) > 0 {
		return pick(r, ids...)
	}
	return r.name()
}

// modelClasses are the classes of a sequence.
func modelClasses() []sound.Class {
	return []sound.Class{"Dog", "dog", "Dog ", "D'%\u00e9"}
}

// pick returns one of some things.
func pick[T any](r *run, of ...T) T { return of[r.IntN(len(of))] }
