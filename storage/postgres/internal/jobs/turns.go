package jobs

import (
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// lookAtAll is how often a claim looks at all jobs, and not only at jobs that have become
	// claimable since the last look. So it finds a job that was committed long after it had
	// become claimable.
	lookAtAll = 10 * time.Second

	// lookBack is how long a look goes back at least: others may have committed jobs since
	// the last one that have been claimable for so long. If no job came, it goes back for a
	// second, but not over leases that have ended: most of their jobs are gone. NOTIFY tells
	// of jobs that are older. A worker may not LISTEN, so once a second a look goes back for
	// two seconds more.
	lookBack  = 10 * time.Millisecond
	lookAgain = time.Second

	maxTurns = 10_000 // organizations that claims of some kinds know to have jobs
)

// arrival is since when a job, or the first of some, may have been claimable.
type arrival struct {
	at    time.Time // zero: since it was stored
	began time.Time // when this process began to store it
}

// or is since when one of two may have been claimable.
func (a arrival) or(b arrival) arrival {
	if a.began.IsZero() || !b.began.IsZero() && b.began.Before(a.began) {
		a.began = b.began
	}
	if a.at.IsZero() || !b.at.IsZero() && b.at.Before(a.at) {
		a.at = b.at
	}
	return a
}

// time is an argument of a statement: at, or NULL.
func (a arrival) time() any {
	if a.at.IsZero() {
		return nil
	}
	return a.at
}

// age is how long ago the process began to store the job.
func (a arrival) age() time.Duration {
	if a.began.IsZero() {
		return 0
	}
	return time.Since(a.began)
}

// jobTurns are the turns of claims, by their kinds: a claim of other kinds may pass
// organizations by that these have jobs of.
type jobTurns struct {
	mu sync.Mutex
	of map[string]*kindTurns
}

// turn is an organization that has claimable jobs, or had some.
type turn struct {
	org string

	// No claimable job of the organization became claimable before. An index keeps the
	// entries of dead rows for as long as a transaction may see them: a claim that begins
	// here passes each entry once.
	from time.Time

	found int // the look that has found the latest of its jobs
	claim int // in settle: its place in the claim, from 1 on
}

// kindTurns says which organizations have claimable jobs, in the order in which the next claim
// serves them, and from where the next look goes on.
//
// If there are more organizations than places, each one in line is served once and leaves.
// When the line is empty, a look at all jobs goes on behind the last organization.
type kindTurns struct {
	kinds []string

	mu     sync.Mutex
	line   []*turn          // the next one first
	places map[string]*turn // in line, by the organization
	looks  int
	met    int // how often claims lately met other claims that took the same jobs

	partly bool   // there may be organizations that are not in line
	after  []byte // the organization behind which the next look at all begins

	free, held time.Time // where the next look begins: at jobs, and at leases that have ended
	late       arrival   // of jobs that were committed since the last look began

	// When the last looks began at all jobs, and at those of the last seconds, by the clock of
	// this process or of a test.
	all, again time.Time
}

func newKindTurns(kinds []string) *kindTurns {
	return &kindTurns{kinds: kinds, places: make(map[string]*turn), after: []byte{}}
}

// turns returns the turns of claims of some kinds, which are sorted.
func (t *jobTurns) turns(kinds []string) *kindTurns {
	key := strings.Join(kinds, " ")
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.of[key]
	if of == nil {
		of = newKindTurns(kinds)
		t.of[key] = of
	}
	return of
}

// came tells of a job that was committed.
func (t *jobTurns) came(kind string, a arrival) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, of := range t.of {
		if slices.Contains(of.kinds, kind) {
			of.mu.Lock()
			of.late = of.late.or(a)
			of.mu.Unlock()
		}
	}
}

// look says where a look begins.
type look struct {
	all        bool
	after      []byte    // of a look at all
	free, held time.Time // of another one
	late       arrival
}

// begin begins a look, unless the organizations in line are to be served first. on: the claim
// may serve none of these.
func (t *kindTurns) begin(clock func() time.Time, on bool) (l look, begun bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := clock()
	if t.partly && !on && len(t.line) > 0 && !t.all.IsZero() {
		return look{}, false
	}
	over := func(last time.Time, every time.Duration) bool { return now.Before(last) || now.Sub(last) >= every }
	l = look{free: t.free, held: t.held, late: t.late, after: t.after}
	if over(t.again, lookAgain) {
		t.again = now
		l.free, l.held = t.free.Add(-2*lookAgain), t.held.Add(-2*lookAgain)
	}
	if l.all = t.partly || t.all.IsZero() || over(t.all, lookAtAll); l.all {
		t.all = now
	}
	t.late = arrival{}
	return l, true
}

// anew has the next look be at all jobs: a claim has failed, or has lost its connection. If
// the database has crashed, the latest claims may be lost.
func (t *kindTurns) anew() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all, t.after = time.Time{}, []byte{}
}

// finding is an organization, and when the first and the last of its jobs that a look has
// seen became claimable.
type finding struct {
	org         []byte
	first, last time.Time
}

// ended ends a look, which was made at a time of the database's. cut: a look at all may have
// left out organizations behind the last one.
func (t *kindTurns) ended(l *look, now time.Time, found []finding, cut bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.looks++
	t.held, t.free = now.Add(-lookBack), now.Add(-lookAgain)
	last := l.after
	for _, f := range found {
		if f.last.After(t.free) {
			t.free = f.last
		}
		o := t.places[string(f.org)]
		if o == nil && len(t.line) >= maxTurns {
			cut = true
			break
		}
		if o == nil {
			o = &turn{org: string(f.org), from: f.first}
			t.line, t.places[o.org] = append(t.line, o), o
		}
		o.found = t.looks
		if f.first.Before(o.from) {
			o.from = f.first
		}
		last = f.org
	}
	if l.all {
		t.partly = cut || len(l.after) > 0
		if t.after = []byte{}; cut {
			t.after = last
		}
	} else {
		t.partly = t.partly || cut
	}
	if l.all || t.free.After(t.held) {
		t.free = t.held
	}
}

// cut reports whether there may be organizations that are not in line.
func (t *kindTurns) cut() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.partly
}

// next returns copies of the next turns, at most limit, without some organizations. A claim
// picks so many times as many jobs as it wants, because it leaves jobs that other claims
// take; and one job of each organization, if further organizations are behind them.
func (t *kindTurns) next(limit int, except []string) (next []turn, times int, oneOfEach bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range t.line {
		if slices.Contains(except, o.org) {
			continue
		}
		if len(next) == limit {
			return next, 1 << t.met, true
		}
		next = append(next, *o)
	}
	return next, 1 << t.met, t.partly
}

// fate is the place of an organization after a claim.
type fate uint8

const (
	waits  fate = iota // in its place for the next claim
	served             // it has got a lease
	locked             // others were taking its jobs
	leaves             // it has no jobs
)

// settle takes the turns of a claim back, with from as the claim left it. met: other claims
// took jobs that the claim had picked, and it has got too few.
func (t *kindTurns) settle(next []turn, fates []fate, met bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if met {
		t.met = min(t.met+1, maxMet)
	} else {
		t.met = max(t.met-1, 0)
	}
	for i := range next {
		if o := t.places[next[i].org]; o != nil {
			o.claim = i + 1
		}
	}
	var back []*turn
	t.line = slices.DeleteFunc(t.line, func(o *turn) (gone bool) {
		i := o.claim - 1
		if i < 0 {
			return false
		}
		o.claim = 0
		same := o.found == next[i].found // else a job came that the claim did not see
		if same && next[i].from.After(o.from) {
			o.from = next[i].from
		}
		switch {
		case fates[i] == waits, fates[i] == leaves && !same:
			return false
		case fates[i] == leaves, fates[i] == served && t.partly:
			delete(t.places, o.org)
		default:
			back = append(back, o)
		}
		return true
	})
	t.line = append(t.line, back...)
}
