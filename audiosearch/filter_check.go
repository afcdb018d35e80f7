package audiosearch

import (
	"context"

	"github.com/seed-6363c74e/mortise/internal/needles"
	"github.com/seed-6363c74e/mortise/internal/turns"
)

// filterCheck tells which metadata pass filters, one video at a time. It is for one
// goroutine.
type filterCheck struct {
	filters []Filter                // all but those of parts
	parts   map[string]*needles.Set // what values are to contain, by key
}

func newFilterCheck(filters []Filter) *filterCheck {
	c := &filterCheck{parts: make(map[string]*needles.Set)}
	parts := make(map[string][]string)
	for _, f := range filters {
		if f.Op == OpContains {
			parts[f.Key] = append(parts[f.Key], f.Value)
		} else {
			c.filters = append(c.filters, f)
		}
	}
	for key, all := range parts {
		c.parts[key] = needles.New(all)
	}
	return c
}

// passes reports whether metadata pass all filters. It waits for the organization's turn.
func (c *filterCheck) passes(ctx context.Context, m Metadata) (bool, error) {
	t, err := turns.Begin(ctx)
	if err != nil {
		return false, err
	}
	defer t.End()
	for _, f := range c.filters {
		if p, err := f.Predicate(); err != nil || !p.Match(m[f.Key]) {
			return false, nil
		}
	}
	for key, set := range c.parts {
		s := m[key]
		const costOfByte = 5 // nanoseconds, about
		if err := t.Step(costOfByte * len(s.text)); err != nil {
			return false, err
		}
		if s.kind == ScalarNull || !set.AllIn(s.text) {
			return false, nil
		}
	}
	return true, nil
}
