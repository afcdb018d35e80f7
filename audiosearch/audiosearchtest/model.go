package audiosearchtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/conformance"
)

// ModelOptions are the settings of [RunModel]. The zero value means the defaults.
type ModelOptions struct {
	Sequences int    // how many: 25, or 500 if the environment has MORTISE_SOAK=1
	Steps     int    // of each sequence, every fifth of which compares: 100
	Seed      uint64 // of the first sequence, the next one has the next: MORTISE_SEED, 1, or a random one if MORTISE_SOAK=1
}

// RunModel makes random calls to a backend, and the same ones to a plain model of it: videos
// with metadata of every kind, scores with many ties, parts, replacements, deletions, changes
// of the current model, compactions and reopenings. Every fifth step is a case: random
// filters, classes, pages and ranges, for which Search, Unscored, WindowScores, Scorings,
// Parts, Models, MissingKeys, ListVideos and Videos must answer what the model does; that
// makes 500 cases, or 10,000 in a soak. A failure prints the seed and the steps. It needs
// Datasets, Catalog and Scores, and skips without; Parts and Models are called if they are
// there. Options may be nil.
func RunModel(t *testing.T, h Harness, opts *ModelOptions) {
	t.Helper()
	var o ModelOptions
	if opts != nil {
		o = *opts
	}
	if o.Sequences <= 0 {
		o.Sequences = 25
		if os.Getenv("MORTISE_SOAK") == "1" {
			o.Sequences = 500
		}
	}
	if o.Steps <= 0 {
		o.Steps = 100
	}
	sequences := conformance.Sequences{Count: o.Sequences, Steps: o.Steps, Seed: o.Seed}
	sequences.Run(t, func(t *testing.T, seed uint64, steps int) {
		r := &run{t: t, subject: h.open(t), rand: rand.New(rand.NewPCG(seed, 1)), model: make(map[place]oracleDataset),
			known: make(map[place]*oracleModels)}
		if reason := conformance.Lacks(r.subject.parts, needScores); reason != "" {
			t.Skip(reason)
		}
		r.steps(steps)
	})
}

// run is one sequence: a backend, the model of it, and what was done to both.
type run struct {
	t       *testing.T
	subject *subject
	rand    *rand.Rand
	model   map[place]oracleDataset
	known   map[place]*oracleModels
	values  []oracleValue // that many videos have
	done    []string      // the steps, in words
}

// place is where a dataset is.
type place struct{ org, dataset string }

func places() []place { return []place{{orgA, setA}, {orgA, setB}, {orgB, setA}} }

// op is something that can happen, and how often it does.
type op struct {
	weight int
	do     func()
}

func (r *run) ops() []op {
	return []op{{1, r.dataset}, {25, r.putVideos}, {6, r.deleteVideo}, {50, r.putScores}, {4, r.putProblem}, {4, r.putOutdated},
		{10, r.putPart}, {4, r.flip}, {6, r.setModel}, {6, r.compact}, {1, r.reopen}}
}

// steps does so many steps.
func (r *run) steps(n int) {
	for _, p := range places() {
		r.makeDataset(p)
	}
	for range 6 {
		r.putVideos()
		r.putScores()
	}
	for i := range n {
		if i%5 == 4 {
			r.compare()
			continue
		}
		r.change()
	}
	for _, p := range places() {
		r.compareVideos(p)
	}
}

// change makes one of the ops.
func (r *run) change() {
	ops := r.ops()
	total := 0
	for _, op := range ops {
		total += op.weight
	}
	pick := r.rand.IntN(total)
	for _, op := range ops {
		if pick -= op.weight; pick < 0 {
			op.do()
			return
		}
	}
}

// say notes what is done next.
func (r *run) say(format string, args ...any) {
	r.done = append(r.done, fmt.Sprintf("%4d  ", len(r.done)+1)+fmt.Sprintf(format, args...))
}

// fail ends the test with what was done.
func (r *run) fail(format string, args ...any) {
	r.t.Helper()
	r.t.Fatalf("%s\nThe steps of %s (MORTISE_SEED=n begins with it):\n%s", fmt.Sprintf(format, args...), r.t.Name(), strings.Join(r.done, "\n"))
}

// same fails unless both are printed alike.
func (r *run) same(what string, want, got any) {
	r.t.Helper()
	if w, g := fmt.Sprintf("%#v", want), fmt.Sprintf("%#v", got); w != g {
		r.fail("%s:\nthe model has   %s\nthe backend has %s", what, w, g)
	}
}

// sameError fails unless the backend's error is the model's. It reports whether both succeeded.
func (r *run) sameError(what string, want, got error) bool {
	r.t.Helper()
	switch {
	case want == nil && got == nil:
		return true
	case want == nil || got == nil || !errors.Is(got, want):
		r.fail("%s: the model's error is %v, the backend's is %v", what, want, got)
	}
	return false
}

// place returns where one of the datasets is, most often the first.
func (r *run) place() place {
	if r.rand.IntN(4) > 0 {
		return places()[0]
	}
	return pick(r, places()...)
}

// video returns the ID of a video that is there, or may be.
func (r *run) video(p place) string {
	if ids := r.model[p].matching(nil); len(ids) > 0 && r.rand.IntN(10) > 0 {
		return pick(r, ids...)
	}
	return r.name()
}

// modelClasses are the classes of a sequence.
func modelClasses() []sound.Class {
	return []sound.Class{"Dog", "dog", "Dog ", "D'%\u00e9"}
}

// pick returns one of some things.
func pick[T any](r *run, of ...T) T { return of[r.rand.IntN(len(of))] }
