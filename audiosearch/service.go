package audiosearch

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise"
	"github.com/seed-6363c74e/mortise/internal/turns"
)

// Options are the optional parts and settings of a Service. The zero value means the defaults.
//
// A panic of what a host plugs in, here and in [WorkerOptions], is recovered where it
// happens and logged with its stack at ERROR. After a panic of a [Scorer] the answer is
// that of a scorer that is away ([ErrUnavailable]). One of a [Media] or a [Files] costs
// the video. After one of a [Moderator] there are no moderation scores, and after one of
// a Backoff the default one is used. One of an Observer or a Tracer changes nothing.
// Stores and queues must not panic.
type Options struct {
	// Scorers are the models that score videos here, of a Family each. A sound class belongs
	// to the first one that predicts it. None: no video can be scored here; searches find
	// what others scored.
	Scorers []Scorer

	Media     Media     // nil: no video can be scored here; searches find what others scored
	Files     Files     // where the bytes are; required with Media. [Folder] is one.
	Moderator Moderator // nil: results have no moderation score

	MaxLimit    int           // results of one search: 1000
	MaxFilters  int           // of one search: 100
	MaxDuration time.Duration // of a video: 24 h; a longer one cannot be searched
	Part        time.Duration // sound of a video that is scored at a time, and kept if the process ends: 10 min

	// Ingesting is how many videos are decoded and scored at a time, for all runs together:
	// the number of processors. If several organizations have some, they take turns. A video
	// that waits for the next turn stays open, with its decoder and its local file.
	Ingesting int

	MaxWaiting int // runs of an organization that have not ended: 1000; Start makes no more

	// KeepRuns is how many runs of an organization that have ended are kept: 10,000. A
	// Worker forgets older ones if the store is a [RunPruner].
	KeepRuns int

	// Stall is how long scoring a video may show no progress before it is given up: 2
	// min. Open is that for Files.Local, which may download the video, and for
	// Media.Probe, which may have to read all of it to find its keyframes: 1 h each.
	// Grace is how long they, or a Scorer, may ignore the end of their context before
	// they are left behind: 5 s. A file is decoded ahead while its sound is scored or
	// stored: the time of the decoder counts only while the scorer has nothing to do.
	Stall, Open, Grace time.Duration

	Now      func() time.Time // time.Now
	Rand     io.Reader        // for the IDs of runs: crypto/rand.Reader; must be safe for concurrent use
	Observer Observer         // none
	Tracer   Tracer           // none
	Logger   *slog.Logger     // slog.Default()
}

// Actor is who does something, as the host names them: for runs and the Observer. It gives
// no rights. "" is nobody in particular.
type Actor string

// Service keeps datasets and searches them. It is safe for concurrent use.
type Service struct {
	store Store
	queue Queue
	tx    TxStore // store, if the queue's jobs can be part of its transactions; else nil
	opts  Options

	flights  flights      // videos that are being scored
	plugs    []*plug      // the scorers
	slots    *turns.Turns // one for each video that may be
	orders   sync.Map     // the places of models, by family and ID
	outdated outdated     // datasets whose current models have newer ones
	turns    *turns.Turns // the processors, for what searches compute
	reading  *turns.Turns // half of them, for reading the videos that searches found

	mu      sync.Mutex
	running map[int64]*attempt // runs that workers of this service have
}

// New returns a Service.
func New(store Store, queue Queue, opts *Options) (*Service, error) {
	if store == nil || queue == nil {
		return nil, errors.New("audiosearch: New needs a store and a queue")
	}
	s := &Service{store: store, queue: queue, running: make(map[int64]*attempt)}
	if opts != nil {
		s.opts = *opts
	}
	o := &s.opts
	if o.Media != nil && o.Files == nil {
		return nil, errors.New("audiosearch: Options.Media needs Options.Files; Folder is one")
	}
	if o.MaxLimit <= 0 {
		o.MaxLimit = 1000
	}
	if o.MaxFilters <= 0 {
		o.MaxFilters = 100
	}
	if o.MaxDuration <= 0 {
		o.MaxDuration = 24 * time.Hour
	}
	if o.Part <= 0 {
		o.Part = 10 * time.Minute
	}
	if o.Ingesting <= 0 {
		o.Ingesting = runtime.GOMAXPROCS(0)
	}
	if o.MaxWaiting <= 0 {
		o.MaxWaiting = 1000
	}
	if o.KeepRuns <= 0 {
		o.KeepRuns = 10_000
	}
	if o.Stall <= 0 {
		o.Stall = 2 * time.Minute
	}
	if o.Open <= 0 {
		o.Open = max(time.Hour, o.Stall)
	}
	if o.Grace <= 0 {
		o.Grace = 5 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if sharer, ok := queue.(mortise.Sharer); ok {
		if tx, ok := store.(TxStore); ok && sharer.Shares(store) {
			s.tx = tx
		} else {
			o.Logger.Info("audiosearch: the queue does not share the store's transaction; " +
				"a run is stored first and queued then")
		}
	}
	for _, scorer := range o.Scorers {
		if scorer == nil {
			return nil, errors.New("audiosearch: Options.Scorers has a nil")
		}
		s.plugs = append(s.plugs, &plug{scorer: scorer, service: s})
	}
	s.outdated.wake = make(chan struct{}, 1)
	s.slots = turns.New(o.Ingesting)
	s.turns = turns.New(runtime.GOMAXPROCS(0))
	s.reading = turns.New(runtime.GOMAXPROCS(0) / 2)
	return s, nil
}

// MaxLimit returns how many results one search may ask for.
func (s *Service) MaxLimit() int { return s.opts.MaxLimit }

// MaxFilters returns how many filters one search may have.
func (s *Service) MaxFilters() int { return s.opts.MaxFilters }

// now returns the time with the precision that stores keep.
func (s *Service) now() time.Time { return s.opts.Now().UTC().Truncate(time.Microsecond) }

// Ping returns nil if the store answers. A scorer that is away does not stop searches over
// what is scored; [Service.PingScorers] asks the scorers.
func (s *Service) Ping(ctx context.Context) error {
	_, err := s.store.Dataset(ctx, "", "")
	if errors.Is(err, ErrDatasetNotFound) {
		return nil
	}
	return unavailable("ping", err)
}
