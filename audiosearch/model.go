package audiosearch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise/internal/name"
)

// MaxClasses is how many classes a model may predict.
const MaxClasses = 10_000

// The other bounds of a model.
const (
	maxSampleRate = 384_000
	maxWindow     = 10 * time.Minute
	maxBatch      = 1024
	maxSamples    = 64 << 20 // of a batch
	usualBatch    = 8
)

// check returns what is wrong with what a scorer says of its model.
func (m *Model) check() error {
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
	case m.samples(m.Hop) < 1:
		return problem("a hop of %v has no sample", m.Hop)
	case m.Batch > maxBatch:
		return problem("batches of %d; they must be at most %d", m.Batch, maxBatch)
	case m.samples(m.Window)+max(m.Batch-1, 0)*m.samples(m.Hop) > maxSamples:
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

// equal reports whether a scorer has said the same of its model twice.
func (m *Model) equal(o *Model) bool {
	return m.ID == o.ID && m.Family == o.Family && m.SampleRate == o.SampleRate && m.Window == o.Window &&
		m.Hop == o.Hop && m.Batch == o.Batch && slices.Equal(m.Classes, o.Classes)
}

// sameScores reports whether scores by one are scores by the other.
func (m *Model) sameScores(o *Model) bool {
	same := *m
	same.Batch = o.Batch
	return same.equal(o)
}

// samples returns how many samples a duration has.
func (m *Model) samples(d time.Duration) int {
	return int((int64(d)*int64(m.SampleRate) + int64(time.Second)/2) / int64(time.Second))
}

// duration is the opposite of samples.
func (m *Model) duration(samples int64) time.Duration {
	rate := int64(m.SampleRate)
	whole, rest := samples/rate, samples%rate
	return time.Duration(whole)*time.Second + time.Duration(rest*int64(time.Second)/rate)
}

// classNamesOf lists classes for a message.
func classNamesOf(classes []Class) string {
	const most = 40
	names := make([]string, 0, most+1)
	for i, c := range classes {
		if i == most {
			names = append(names, fmt.Sprintf("and %d more", len(classes)-most))
			break
		}
		names = append(names, string(c))
	}
	slices.Sort(names[:min(len(names), most)])
	return strings.Join(names, "; ") // names may have commas
}
