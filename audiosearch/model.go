package audiosearch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-6363c74e/mortise/internal/name"
)

// model asks the scorer, and checks what it says.
func (s *Service) model(ctx context.Context) (Model, error) {
	answer := make(chan Model, 1) // a scorer that is left behind must not write where somebody reads
	err := watched(ctx, s.opts.Stall, s.opts.Grace, s.panicked(ctx, scorerHook), func(ctx context.Context, _ func(time.Duration)) error {
		m, err := s.scorer.Model(ctx)
		answer <- m
		return err
	})
	if err != nil {
		return Model{}, unavailable("ask the scorer for its model", err)
	}
	m := <-answer
	if err := m.check(); err != nil {
		return Model{}, Permanent(fmt.Errorf("%w: %w", ErrUnavailable, err))
	}
	if m.Batch <= 0 {
		m.Batch = 8
	}
	return m, nil
}

// The bounds of a model.
const (
	maxSampleRate = 384_000
	maxWindow     = 10 * time.Minute
	maxBatch      = 1024
	maxSamples    = 64 << 20 // of a batch
)

func (m *Model) check() error {
	problem := func(format string, args ...any) error {
		return fmt.Errorf("the scorer's model is not usable: "+format, args...)
	}
	switch {
	case name.Problem(m.ID) != "":
		return problem("its ID %s", name.Problem(m.ID))
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
	}
	for i, c := range m.Classes {
		if !c.Valid() || i > 0 && c <= m.Classes[i-1] {
			return problem("its classes must be valid and ascending")
		}
	}
	return nil
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

// classNamesOf lists what a model predicts, for a message.
func classNamesOf(classes []Class) string {
	const most = 40
	names := make([]string, 0, most+1)
	for i, c := range classes {
		if i == most {
			names = append(names, fmt.Sprintf("and %d more", len(classes)-most))
			break
		}
		names = append(names, c.String())
	}
	slices.Sort(names[:min(len(names), most)])
	return joinNames(names)
}
