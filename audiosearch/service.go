package audiosearch

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/audiosearch/internal/flights"
	"github.com/seed-6363c74e/mortise/internal/hook"
	"github.com/seed-6363c74e/mortise/internal/name"
	"github.com/seed-6363c74e/mortise/internal/seldom"
	"github.com/seed-6363c74e/mortise/internal/turns"
)

// Service keeps datasets and searches them. It is safe for concurrent use.
type Service struct {
	store Store
	queue Queue
	tx    TxStore // store, if the queue's jobs can be part of its transactions; else nil
	opts  Options
	media string // the ID of Options.Media; "" without one

	flights  flights.Group[flightKey, *outcome] // videos that are being scored
	plugs    []*plug                            // the scorers
	slots    *turns.Turns                       // one for each video that may be
	orders   sync.Map                           // the places of models, by family and ID
	outdated outdated                           // datasets whose current models have newer ones
	turns    *turns.Turns                       // the processors, for what searches compute
	reading  *turns.Turns                       // half of them, for reading the videos that searches found

	failed seldom.Lines // of the log, about attempts, by organization

	mu      sync.Mutex
	running map[int64]*attempt // runs that workers of this service have
}

// New returns a Service over a backend. It fails if the backend lacks a Store or a Queue,
// or if a setting makes no sense. Options may be nil.
func New(b Backend, opts *Options) (*Service, error) {
	if err := errors.Join(b.validate(), opts.validate()); err != nil {
		return nil, err
	}
	s := &Service{store: b.Store, queue: b.Queue, opts: opts.withDefaults(), running: make(map[int64]*attempt)}
	o := &s.opts
	if o.Media != nil {
		if s.media = o.Media.ID(); name.Problem(s.media) != "" {
			return nil, fmt.Errorf("audiosearch: the ID of Options.Media %s", name.Problem(s.media))
		}
	}
	if sharer, ok := b.Queue.(mortise.Sharer); ok {
		if tx, ok := b.Store.(TxStore); ok && sharer.Shares(b.Store) {
			s.tx = tx
		} else {
			o.Logger.Info("audiosearch: the queue does not share the store's transaction; " +
				"a run is stored first and queued then")
		}
	}
	for _, scorer := range o.Scorers {
		s.plugs = append(s.plugs, &plug{scorer: scorer, service: s})
	}
	s.outdated.wake = make(chan struct{}, 1)
	s.slots = turns.New(o.Ingesting, o.Ingesting)
	s.turns = turns.New(runtime.GOMAXPROCS(0), runtime.GOMAXPROCS(0))
	s.reading = turns.New(runtime.GOMAXPROCS(0)/2, runtime.GOMAXPROCS(0))
	return s, nil
}

// Limits are the most that one search may ask for.
type Limits struct {
	Results int
	Filters int
}

// Limits returns the most that one search may ask for, see [Options].
func (s *Service) Limits() Limits {
	return Limits{Results: s.opts.MaxLimit, Filters: s.opts.MaxFilters}
}

// hosted reports whether calls under ctx are part of a transaction of the host's.
func (s *Service) hosted(ctx context.Context) bool {
	store, ok := s.store.(mortise.HostTx)
	return ok && store.AfterCommit(ctx, nil)
}

// now returns the time with the precision that stores keep.
func (s *Service) now() time.Time { return s.opts.Now().UTC().Truncate(time.Microsecond) }

// panicked returns what a panic of a hook becomes.
func (s *Service) panicked(ctx context.Context, name string) func(p any) error {
	return func(p any) error { return hook.Panicked(ctx, s.opts.Logger, name, p) }
}

// Ping returns nil if the store answers. A scorer that is away does not stop searches
// over what is scored; [Service.PingScorers] asks the scorers.
func (s *Service) Ping(ctx context.Context) error {
	_, err := s.store.Dataset(ctx, "", "")
	if errors.Is(err, ErrDatasetNotFound) {
		return nil
	}
	return unavailable("ping", err)
}
