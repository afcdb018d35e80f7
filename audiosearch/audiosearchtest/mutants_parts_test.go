package audiosearchtest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/conformance"
	"github.com/seed-6363c74e/mortise/internal/conformance/mutate"
)

// everyPart applies change to all parts that the mutant is given or asked for.
func everyPart(change func(org string, p *audiosearch.Part)) func(*mutant) {
	return around(func(_ *mutant, c *mutate.Call) {
		change(*mutate.Get[string](c.In), mutate.Get[audiosearch.Part](c.In))
		c.Go()
	}, "PutPart", "Parts")
}

// standing returns how many segments stand in parts like one.
func (m *mutant) standing(ctx context.Context, org, dataset string, p audiosearch.Part) int {
	n, _ := m.db.Parts(ctx, org, dataset, p)
	return n
}

// everyFlip applies change to all scorings with parts that the mutant is given.
func everyFlip(flip func(ctx context.Context, org, dataset string, v audiosearch.Video, s audiosearch.Scoring, columns [][]uint16) error) func(*mutant) {
	return replace("PutScoring", func(m *mutant, ctx context.Context, org, dataset, video, path string, s audiosearch.Scoring, columns [][]uint16) error {
		if len(columns) > 0 && len(columns[0]) < s.Windows {
			return flip(ctx, org, dataset, audiosearch.Video{ID: video, Path: path}, s, columns)
		}
		return m.db.PutScoring(ctx, org, dataset, video, path, s, columns)
	})
}

// revived makes the mutant remember the parts of each video and model. revive stores those
// of a dataset again.
func (m *mutant) revived() (revive func(ctx context.Context, org, dataset string)) {
	type kept struct {
		org, dataset string
		p            audiosearch.Part
		columns      [][]uint16
	}
	all := make(map[string][]kept)
	m.On.PutPart = func(ctx context.Context, org, dataset string, p audiosearch.Part, columns [][]uint16) (int, error) {
		before := m.standing(ctx, org, dataset, p)
		n, err := m.db.PutPart(ctx, org, dataset, p, columns)
		if err == nil && n > before {
			key := fmt.Sprintf("%q", []string{org, dataset, p.Video, p.Model})
			if p.First == 0 {
				delete(all, key)
			}
			all[key] = append(all[key], kept{org, dataset, p, columns})
		}
		return n, err
	}
	return func(ctx context.Context, org, dataset string) {
		for _, parts := range all {
			for _, k := range parts {
				if k.org == org && k.dataset == dataset {
					v, _ := m.db.Video(ctx, org, dataset, k.p.Video)
					k.p.Path = v.Path
					_, _ = m.db.PutPart(ctx, org, dataset, k.p, k.columns)
				}
			}
		}
	}
}

var partMutants = []broken{
	{name: "does not miss datasets of parts", breaks: "parts/no-dataset",
		mutate: replace("Parts", func(m *mutant, ctx context.Context, org, dataset string, p audiosearch.Part) (int, error) {
			n, err := m.db.Parts(ctx, org, dataset, p)
			if errors.Is(err, audiosearch.ErrDatasetNotFound) {
				err = nil
			}
			return n, err
		})},
	{name: "says how long a part is", breaks: "parts/sequence parts/less",
		mutate: replace("PutPart", func(m *mutant, ctx context.Context, org, dataset string, p audiosearch.Part, columns [][]uint16) (int, error) {
			_, err := m.db.PutPart(ctx, org, dataset, p, columns)
			return len(columns[0]), err
		})},
	{name: "stores parts after a gap", breaks: "parts/gap parts/other-follows-nothing",
		mutate: replace("PutPart", func(m *mutant, ctx context.Context, org, dataset string, p audiosearch.Part, columns [][]uint16) (int, error) {
			p.First = min(p.First, m.standing(ctx, org, dataset, p))
			return m.db.PutPart(ctx, org, dataset, p, columns)
		})},
	{name: "stores every part at the end", breaks: "parts/less parts/two-writers parts/put-concurrent",
		mutate: replace("PutPart", func(m *mutant, ctx context.Context, org, dataset string, p audiosearch.Part, columns [][]uint16) (int, error) {
			for {
				p.First = m.standing(ctx, org, dataset, p)
				n, err := m.db.PutPart(ctx, org, dataset, p, columns)
				if err != nil || n == p.First+len(columns[0]) {
					return n, err
				}
			}
		})},
	{name: "looks what stands in parts and then stores", breaks: "parts/put-concurrent", mutate: func(m *mutant) {
		var mu sync.Mutex
		m.On.PutPart = func(ctx context.Context, org, dataset string, p audiosearch.Part, columns [][]uint16) (int, error) {
			if n := m.standing(ctx, org, dataset, p); n > p.First {
				return n, nil
			}
			conformance.Seam()
			mu.Lock()
			defer mu.Unlock()
			p.First = m.standing(ctx, org, dataset, p)
			return m.db.PutPart(ctx, org, dataset, p, columns)
		}
	}},
	{name: "does not look at the digest of parts", breaks: "parts/other-replaces parts/count",
		mutate: everyPart(func(_ string, p *audiosearch.Part) { p.Digest = [32]byte{} })},
	{name: "does not look at the media of parts", breaks: "parts/other-replaces parts/count",
		mutate: everyPart(func(_ string, p *audiosearch.Part) { p.Media = "" })},
	{name: "does not look at the hop of parts", breaks: "parts/other-replaces parts/other-follows-nothing",
		mutate: everyPart(func(_ string, p *audiosearch.Part) { p.Hop = 2 * time.Second })},
	{name: "does not look at the order of a part's classes", breaks: "parts/other-replaces parts/count",
		mutate: everyPart(func(_ string, p *audiosearch.Part) {
			if len(p.Classes) == 3 && p.Classes[0] == "8" && p.Classes[1] == "7" {
				p.Classes = []sound.Class{"7", "8", "9"}
			}
		})},
	{name: "keeps parts whatever comes", breaks: "parts/other-replaces", mutate: func(m *mutant) {
		first := make(map[string]audiosearch.Part)
		m.On.PutPart = func(ctx context.Context, org, dataset string, p audiosearch.Part, columns [][]uint16) (int, error) {
			if old, ok := first[p.Video]; ok && m.standing(ctx, org, dataset, old) > 0 && m.standing(ctx, org, dataset, p) == 0 {
				return 0, audiosearch.ErrConflict
			}
			first[p.Video] = p
			return m.db.PutPart(ctx, org, dataset, p, columns)
		}
	}},
	{name: "counts parts from the given one on", breaks: "parts/count",
		mutate: replace("Parts", func(m *mutant, ctx context.Context, org, dataset string, p audiosearch.Part) (int, error) {
			n, err := m.db.Parts(ctx, org, dataset, p)
			return max(0, n-p.First), err
		})},
	{name: "counts the parts of what is gone", breaks: "parts/conflict",
		mutate: replace("Parts", func(m *mutant, ctx context.Context, org, dataset string, p audiosearch.Part) (int, error) {
			n, err := m.db.Parts(ctx, org, dataset, p)
			if errors.Is(err, audiosearch.ErrConflict) {
				err = nil
			}
			return n, err
		})},
	{name: "stores parts of any path", breaks: "parts/conflict",
		mutate: replace("PutPart", func(m *mutant, ctx context.Context, org, dataset string, p audiosearch.Part, columns [][]uint16) (int, error) {
			if v, err := m.db.Video(ctx, org, dataset, p.Video); err == nil {
				p.Path = v.Path
			}
			return m.db.PutPart(ctx, org, dataset, p, columns)
		})},
	{name: "looks at the path of a part and then stores it", breaks: "parts/conflict-concurrent",
		mutate: replace("PutPart", func(m *mutant, ctx context.Context, org, dataset string, p audiosearch.Part, columns [][]uint16) (int, error) {
			if v, err := m.db.Video(ctx, org, dataset, p.Video); err != nil || v.Path != p.Path {
				return 0, audiosearch.ErrConflict
			}
			conformance.Seam()
			v, _ := m.db.Video(ctx, org, dataset, p.Video)
			p.Path = v.Path
			return m.db.PutPart(ctx, org, dataset, p, columns)
		})},
	{name: "stores parts when they are asked for", breaks: "parts/copies", mutate: func(m *mutant) {
		var due []func()
		counts := make(map[string]int)
		do := func() {
			for _, put := range due {
				put()
			}
			due = nil
		}
		m.On.PutPart = func(ctx context.Context, org, dataset string, p audiosearch.Part, columns [][]uint16) (int, error) {
			due = append(due, func() { _, _ = m.db.PutPart(ctx, org, dataset, p, columns) })
			counts[p.Video] += len(columns[0])
			return counts[p.Video], nil
		}
		m.On.Parts = func(ctx context.Context, org, dataset string, p audiosearch.Part) (int, error) {
			do()
			return m.db.Parts(ctx, org, dataset, p)
		}
		everyFlip(func(ctx context.Context, org, dataset string, v audiosearch.Video, s audiosearch.Scoring, columns [][]uint16) error {
			do()
			return m.db.PutScoring(ctx, org, dataset, v.ID, v.Path, s, columns)
		})(m)
	}},
	{name: "keeps parts in eight bits", breaks: "parts/many parts/flip-rest",
		mutate: replace("PutPart", func(m *mutant, ctx context.Context, org, dataset string, p audiosearch.Part, columns [][]uint16) (int, error) {
			own := make([][]uint16, len(columns))
			for c := range own {
				for _, score := range columns[c] {
					own[c] = append(own[c], score&0xFF00)
				}
			}
			return m.db.PutPart(ctx, org, dataset, p, own)
		})},
}
