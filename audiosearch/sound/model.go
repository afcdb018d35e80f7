package sound

import (
	"fmt"
	"slices"
	"time"

	"github.com/seed-6363c74e/mortise/internal/name"
)

// MaxClasses is how many classes a model may predict.
const MaxClasses = 10_000

// Model says what a [Scorer] takes and gives. [Model.Check] has the bounds.
type Model struct {
	// ID names the model and everything that its scores depend on: its kind, the version
	// of the code that prepares its input, and a digest of its weights
	// ("ast/1/sha256:...", "signal/3"). Scores are kept for each file and model ID;
	// another ID means that all is scored again. It is a name: 1 to 255 bytes.
	ID string

	// Family names the model without what changes when it is made better: "ast",
	// "signal". Of the models of a family, searches read the scores of one at a time. A
	// new one takes the place of the old one in a dataset when it has scored what the old
	// one has. It is a name, like ID.
	Family string

	SampleRate int           // of the clips, in Hz
	Window     time.Duration // length of a segment
	Hop        time.Duration // from the start of a segment to that of the next one
	Classes    []Class       // those that it predicts, in the order of its scores
	Batch      int           // clips that it likes to be given at a time; 0: 8
}

// Predicts reports whether the model gives scores for a class.
func (m *Model) Predicts(c Class) bool {
	return slices.Contains(m.Classes, c)
}

// The bounds of a model that nobody outside needs.
const (
	maxSampleRate = 384_000
	maxWindow     = 10 * time.Minute
	maxBatch      = 1024
	maxSamples    = 64 << 20 // of a batch
)

// Check returns what is wrong with a model, or nil. A service looks before it uses one:
//
//   - ID and Family are names. Classes has 1 to [MaxClasses] names, each once.
//   - SampleRate is at most 384000, Window at most 10 minutes, and Hop 1 ms at least, and
//     one sample, and at most Window.
//   - Batch is at most 1024, and the sound that so many windows cover, each a Hop after the
//     one before, has at most 64 Mi samples.
func (m *Model) Check() error {
	problem := func(format string, args ...any) error {
		return fmt.Errorf("the scorer's model is not usable: "+format, args...)
	}
	switch {
	case name.Problem(m.ID) != "":
		return problem("its ID %s", name.Problem(m.ID))
	case name.Problem(m.Family) != "":
		return problem("its Family %s", name.Problem(m.Family))
	case m.SampleRate < 1 || m.SampleRate > maxSampleRate:
		return problem("sample rate %d; it must be 1 to %d", m.SampleRate, maxSampleRate)
	case m.Window <= 0 || m.Window > maxWindow:
		return problem("window %v; it must be over 0, and at most %v", m.Window, maxWindow)
	case m.Hop < time.Millisecond || m.Hop > m.Window:
		return problem("hop %v; it must be 1ms at least, and at most the window", m.Hop)
	case m.Samples(m.Hop) < 1:
		return problem("a hop of %v has no sample", m.Hop)
	case m.Batch > maxBatch:
		return problem("batches of %d; they must be at most %d", m.Batch, maxBatch)
	case m.Samples(m.Window)+max(m.Batch-1, 0)*m.Samples(m.Hop) > maxSamples:
		return problem("%d windows of %v at %d Hz are too much for one batch", m.Batch, m.Window, m.SampleRate)
	case len(m.Classes) == 0:
		return problem("it predicts no class")
	case len(m.Classes) > MaxClasses:
		return problem("%d classes; they must be at most %d", len(m.Classes), MaxClasses)
	}
	seen := make(map[Class]bool, len(m.Classes))
	for _, c := range m.Classes {
		if p := name.Problem(string(c)); p != "" {
			return problem("the name of a class %s", p)
		}
		if seen[c] {
			return problem("it has the class %q twice", c)
		}
		seen[c] = true
	}
	return nil
}

// Samples returns how many samples a duration has, to the nearest one: a whole clip has
// those of Window.
func (m *Model) Samples(d time.Duration) int {
	return int((int64(d)*int64(m.SampleRate) + int64(time.Second)/2) / int64(time.Second))
}
