package audiosearch

import (
	"context"

	"github.com/seed-6363c74e/mortise/audiosearch/metadata"
	"github.com/seed-6363c74e/mortise/internal/needles"
	"github.com/seed-6363c74e/mortise/internal/turns"
)

// filterCheck tells which metadata pass filters, one video at a time. It is for one
// goroutine.
type filterCheck struct {
	filters []keyedPredicate        // all but those of parts
	parts   map[string][]string     // what values are to contain, by key
	sets    map[string]*needles.Set // of parts, made when they are needed
}

// keyedPredicate is a filter that is ready to be asked.
type keyedPredicate struct {
	key     string
	matches func(metadata.Scalar) bool
}

func newFilterCheck(filters []metadata.Filter) (*filterCheck, error) {
	c := &filterCheck{parts: make(map[string][]string), sets: make(map[string]*needles.Set)}
	for _, f := range filters {
		if f.Op == metadata.OpContains {
			c.parts[f.Key] = append(c.parts[f.Key], f.Value)
			continue
		}
		p, err := f.Predicate()
		if err != nil {
			return nil, err
		}
		c.filters = append(c.filters, keyedPredicate{f.Key, p})
	}
	return c, nil
}

// passes reports whether metadata pass all filters. It waits for the organization's turn.
func (c *filterCheck) passes(ctx context.Context, m metadata.Map) (bool, error) {
	t, err := turns.Begin(ctx)
	if err != nil {
		return false, err
	}
	defer t.End()
	for _, f := range c.filters {
		if !f.matches(m[f.key]) {
			return false, nil
		}
	}
	for key, parts := range c.parts {
		set := c.sets[key]
		if set == nil {
			if set, err = needles.New(parts, t.Step); err != nil {
				return false, err
			}
			c.sets[key] = set
		}
		s := m[key]
		const costOfByte = 5 // nanoseconds, about
		if err := t.Step(costOfByte * len(s.Text())); err != nil {
			return false, err
		}
		if s.Kind() == metadata.KindNull || !set.AllIn(s.Text()) {
			return false, nil
		}
	}
	return true, nil
}
