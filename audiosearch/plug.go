package audiosearch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/failure"
	"github.com/seed-6363c74e/mortise/internal/watch"
)

// plug is a scorer of a service, with what it said last of its model.
type plug struct {
	scorer  sound.Scorer
	service *Service

	mu    sync.Mutex
	known *sound.Model // what it said last; nil: nothing that could be used
	turns int          // how often it said something else than before
	late  time.Time    // until when it is not asked, because it did not answer in time
}

// How long a scorer that is known is waited for when a search needs its model, and how
// long it is not asked again after it did not answer in that time.
const (
	modelWait  = 5 * time.Second
	modelPause = 10 * time.Second
)

// usualBatch is how many clips a scorer is given that does not say how many it likes.
const usualBatch = 8

// errAway: the scorer did not answer a moment ago.
var errAway = fmt.Errorf("%w: the scorer did not answer a moment ago", mortise.ErrUnavailable)

// last returns what the scorer said last of its model. ok is false if it has said nothing
// yet.
func (p *plug) last() (m sound.Model, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		return sound.Model{}, false
	}
	return *p.known, true
}

// model asks the scorer, and checks what it says. What is known already is not waited for
// as long as what nobody knows yet.
func (p *plug) model(ctx context.Context) (sound.Model, error) {
	s := p.service
	p.mu.Lock()
	known, late := p.known != nil, time.Now().Before(p.late)
	p.mu.Unlock()
	if late {
		return sound.Model{}, errAway
	}
	wait := s.opts.Stall
	if known {
		wait = min(wait, modelWait)
	}
	// A scorer that is left behind must not write where somebody reads.
	answer := make(chan sound.Model, 1)
	err := watch.Run(ctx, wait, s.opts.Grace, s.panicked(ctx, scorerHook), func(ctx context.Context, _ func(time.Duration)) error {
		m, err := p.scorer.Model(ctx)
		answer <- m
		return failure.FromHook(err)
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		if known && errors.Is(err, watch.ErrStalled) {
			p.late = time.Now().Add(modelPause)
		}
		return sound.Model{}, unavailable("ask the scorer for its model", err)
	}
	m := <-answer
	if m.Batch <= 0 {
		m.Batch = usualBatch
	}
	if p.known != nil && sameModel(p.known, &m) {
		return *p.known, nil
	}
	if err := m.Check(); err != nil {
		return sound.Model{}, sound.Permanent(fmt.Errorf("%w: %w", mortise.ErrUnavailable, err))
	}
	m.Classes = slices.Clone(m.Classes)
	if p.known != nil && !sameScores(p.known, &m) {
		p.turns++
	}
	p.known = &m
	return m, nil
}

// turned returns a number that is another one when the scorer's model was another one
// meanwhile, though it may be the same again.
func (p *plug) turned() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.turns
}

// quick returns what the scorer said last, or asks it if it has said nothing yet.
func (p *plug) quick(ctx context.Context) (sound.Model, error) {
	if m, ok := p.last(); ok {
		return m, nil
	}
	return p.model(ctx)
}

// PingScorers returns nil if all scorers answer. Searches over what is scored need none.
func (s *Service) PingScorers(ctx context.Context) error {
	for _, p := range s.plugs {
		if _, err := p.model(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Classes returns the sound classes that the service's scorers predict, each once, in
// the order of the scorers and of their models. A scorer that is away counts with what
// it said last. A scorer that has said nothing yet and is away is left out; if there is
// no other, the error is [mortise.ErrUnavailable]. A service without scorers has no
// classes of its own. Datasets may have scores of further classes ([Service.Models]).
func (s *Service) Classes(ctx context.Context) ([]sound.Class, error) {
	var classes []sound.Class
	var failure error
	seen := make(map[sound.Class]bool)
	for _, p := range s.plugs {
		m, err := p.quick(ctx)
		if err != nil {
			failure = err
			continue
		}
		for _, c := range m.Classes {
			if !seen[c] {
				seen[c] = true
				classes = append(classes, c)
			}
		}
	}
	if classes == nil {
		return nil, failure
	}
	return classes, nil
}
