package trigger_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/nightly"
	"github.com/seed-6363c74e/mortise/trigger/triggertest"
)

// TestSimulation runs seeded schedules of submitters, workers and sweepers over one
// database that fails, loses answers and crashes its callers, and looks whether the
// package's promise holds. Every schedule is single-threaded: races are explored by
// running a step of one actor in the middle of a backend call of another.
//
// MORTISE_SEED=N runs only schedule N and prints its trace.
func TestSimulation(t *testing.T) {
	if text := os.Getenv("MORTISE_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, "MORTISE_SEED")
		trace, violation := simulate(seed, true)
		t.Logf("schedule %d\n%s", seed, trace)
		require.NoError(t, violation)
		return
	}
	runSchedules(t, 400)
}

// TestManySimulations is TestSimulation for longer.
func TestManySimulations(t *testing.T) {
	nightly.Only(t)
	runSchedules(t, 20_000)
}

func runSchedules(t *testing.T, schedules uint64) {
	t.Helper()
	start := time.Now()
	var next, failed atomic.Uint64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				seed := next.Add(1)
				if seed > schedules || failed.Load() != 0 {
					return
				}
				if _, violation := simulate(seed, false); violation != nil {
					failed.CompareAndSwap(0, seed)
				}
			}
		})
	}
	wg.Wait()
	if seed := failed.Load(); seed != 0 {
		trace, violation := simulate(seed, true)
		t.Fatalf("%s\nschedule %d: %v\nreplay: MORTISE_SEED=%d go test -run '^TestSimulation$' -v ./trigger", trace, seed, violation, seed)
	}
	t.Logf("%d schedules in %v", schedules, time.Since(start).Round(time.Millisecond))
}

// TestSimulationIsDeterministic: a trace is of use only if the seed gives it again.
func TestSimulationIsDeterministic(t *testing.T) {
	for seed := range uint64(20) {
		first, violation := simulate(1000+seed, true)
		require.NoError(t, violation)
		again, _ := simulate(1000+seed, true)
		require.Equal(t, first, again, "seed %d", 1000+seed)
		require.Greater(t, strings.Count(first, "\n"), 60, "seed %d hardly does anything", 1000+seed)
	}
	first, _ := simulate(1, true)
	other, _ := simulate(2, true)
	require.NotEqual(t, first, other, "the seed does not matter")
}

// simulation is one schedule.
type simulation struct {
	rng   *rand.Rand
	clock triggertest.Clock
	db    *auditedDB
	procs []*process // one or two; each with a service, a worker and a sweeper of its own
	depth int        // of steps within steps
	calm  bool       // no faults any more

	// What this schedule is like.
	shared            bool // event and job in one transaction
	keyed             bool // some submissions carry idempotency keys
	applies           bool // finished work is written in the transaction that ends the event
	maxAttempts       int
	pError, pLost     float64 // of a call that fails before and after its effect
	pCrash, pInterval float64 // of a crash in a call, and of another actor's step in the middle of it

	deletes bool            // organizations are deleted now and then
	deleted map[string]bool // organizations that are marked
	events  map[uuid.UUID]*eventRecord
	order   []*eventRecord
	calls   []*submission
	answers []answer
	written *eventRecord // by the latest Store.UpdateEvent, if that began an attempt

	trace     io.Writer // nil: none wanted
	violation error     // the first one
}

const (
	simSteps  = 60
	simTTL    = 15 * time.Second
	simWindow = 24 * time.Hour
)

// simulate runs the schedule of a seed.
func simulate(seed uint64, traced bool) (trace string, violation error) {
	s := &simulation{
		rng:    rand.New(rand.NewPCG(seed, 0x6d6f7274697365)),
		events: make(map[uuid.UUID]*eventRecord), deleted: make(map[string]bool),
	}
	var out strings.Builder
	if traced {
		s.trace = &out
	}
	defer func() {
		if p := recover(); p != nil {
			trace, violation = out.String(), fmt.Errorf("panic: %v\n%s", p, stack())
		}
	}()

	s.shared, s.keyed, s.deletes = s.chance(0.4), s.chance(0.7), s.chance(0.3)
	s.applies = s.chance(0.4)
	s.maxAttempts = []int{1, 3, 10}[s.rng.IntN(3)]
	level := []float64{0, 0.02, 0.1, 0.3}[s.rng.IntN(4)]
	s.pError, s.pLost, s.pCrash = level*s.rng.Float64(), level*s.rng.Float64(), level*s.rng.Float64()/3
	s.pInterval = []float64{0, 0.05, 0.2}[s.rng.IntN(3)]
	s.tracef("transaction %v, keys %v, apply %v, max attempts %d, faults %.2f/%.2f/%.2f, interleaving %.2f",
		s.shared, s.keyed, s.applies, s.maxAttempts, s.pError, s.pLost, s.pCrash, s.pInterval)
	s.db = newAuditedDB(s)
	for i := range 1 + s.rng.IntN(2) {
		s.procs = append(s.procs, nil)
		s.boot(i)
	}

	for range simSteps {
		if s.step(); s.violation != nil {
			return out.String(), s.violation
		}
	}
	s.settle()
	s.check()
	return out.String(), s.violation
}

func stack() string {
	b := make([]byte, 16<<10)
	return string(b[:runtime.Stack(b, false)])
}

func (s *simulation) chance(p float64) bool { return s.rng.Float64() < p }

func (s *simulation) tracef(format string, args ...any) {
	if s.trace == nil {
		return
	}
	at := s.clock.Now().Sub((&triggertest.Clock{}).Now()).Round(time.Millisecond)
	fmt.Fprintf(s.trace, "%12v %s%s\n", at, strings.Repeat("    ", s.depth), fmt.Sprintf(format, args...))
}

// broken notes a violation.
func (s *simulation) broken(format string, args ...any) {
	if s.violation == nil {
		s.violation = fmt.Errorf(format, args...)
	}
	s.tracef("VIOLATION: "+format, args...)
}

// step lets some actor do something.
func (s *simulation) step() {
	p := s.procs[s.rng.IntN(len(s.procs))]
	switch n := s.rng.IntN(100); {
	case n < 30:
		s.submit(p)
	case n < 62:
		s.work(p)
	case n < 72:
		s.sweep(p)
	case n < 88:
		s.advance()
	case n < 95:
		s.byHand(p)
	case n < 96:
		s.delete(p)
	default:
		s.tracef("process %d crashes between calls", p.index)
		p.dead = true
		s.boot(p.index)
	}
}

// within runs steps of other actors in the middle of a call. While a transaction is open it
// runs none: a write of another actor would wait for its end.
func (s *simulation) within() {
	if s.calm || s.db.open != nil || s.depth >= 3 || !s.chance(s.pInterval) {
		return
	}
	s.depth++
	defer func() { s.depth-- }()
	for range 1 + s.rng.IntN(2) {
		p := s.procs[s.rng.IntN(len(s.procs))]
		switch n := s.rng.IntN(100); {
		case n < 30:
			s.resubmit(p) // races for one key are where it is hard
		case n < 45:
			s.work(p)
		case n < 60:
			s.sweep(p)
		default:
			s.step()
		}
	}
}

func (s *simulation) advance() {
	d := time.Duration(0)
	switch s.rng.IntN(12) {
	case 0:
		d = simWindow + time.Hour
	case 1, 2:
		d = time.Duration(1+s.rng.IntN(11)) * time.Minute
	case 3, 4:
		d = 31 * time.Second // what is unqueued becomes due for the sweeper
	case 5, 6:
		d = simTTL + time.Second
	default:
		d = time.Duration(1+s.rng.IntN(3000)) * time.Millisecond
	}
	s.clock.Advance(d)
	s.tracef("the clock moves by %v", d)
}

// settle ends all faults and lets the actors run until nothing is left to do.
func (s *simulation) settle() {
	s.tracef("everything heals")
	s.calm = true
	for org := range s.deleted {
		s.deleteAll(s.procs[0], org)
	}
	for round := range 40 {
		s.clock.Advance(11 * time.Minute) // beyond every lease, backoff and RetryAfter
		if round > 20 {
			s.clock.Advance(100 * time.Hour) // beyond the wait of an end whose job was refused
		}
		for _, p := range s.procs {
			s.sweep(p)
		}
		jobs := 0
		for ; jobs < 1000 && s.work(s.procs[s.rng.IntN(len(s.procs))]); jobs++ {
		}
		// A job that was queued beside a deletion is tried again for a minute.
		if s.quiet() && (jobs == 0 || len(s.deleted) == 0) {
			return
		}
	}
	s.broken("not quiet after 40 rounds without faults")
}
