package postgres

import (
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// lookAtAll is how often a claim looks at all jobs, and not only at those that have
	// become claimable since the last look: so a job is found that was committed long after
	// it had become claimable. Such looks take a twentieth of the time at most: while a
	// transaction holds its snapshot for hours, each passes all jobs that are gone.
	lookAtAll = 10 * time.Second

	// lookBack is how long a look goes back at least: others may have committed jobs since
	// the last one that have been claimable for so long. Longer ones they tell of.
	lookBack = 10 * time.Millisecond

	// lookBackFor is how long it goes back at most if no job came.
	lookBackFor = time.Second

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
	of map[string]*turns
}

// turn is an organization that has claimable jobs, or had some.
type turn struct {
	org string

	// No claimable job of the organization became claimable before. An index keeps the
	// entries of jobs that are gone for as long as a transaction may see them: a claim that
	// begins here passes each of them once.
	from time.Time

	found int // how often looks have found jobs
	claim int // in served: its place in the claim, from 1 on
}

// turns say which organizations have claimable jobs, in the order in which the next claim
// serves them, and from where the next look goes on.
type turns struct {
	kinds []string

	mu     sync.Mutex
	line   []*turn          // the next one first
	places map[string]*turn // in line, by the organization
	more   bool             // there may be organizations that are not in line
	met    int              // how often claims lately met others that were taking what they picked

	// Until when looks have found what had become claimable.
	free, held time.Time
	late       arrival // of jobs that were committed since the last look began

	all   time.Time     // when the last look at all jobs began, by the clock of this process or of a test
	every time.Duration // when the next one begins after it
	after []byte        // the organization behind which the next one begins
}

// turns returns those of claims of some kinds, which are sorted.
func (t *jobTurns) turns(kinds []string) *turns {
	key := strings.Join(kinds, " ")
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.of[key]
	if of == nil {
		of = &turns{kinds: kinds, places: make(map[string]*turn), after: []byte{}}
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
	began      time.Time
	after      []byte    // of a look at all
	free, held time.Time // of another one
	late       arrival
}

// begin begins a look, at a time.
func (t *turns) begin(now time.Time) look {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := look{began: time.Now(), free: t.free, held: t.held, late: t.late, after: t.after}
	l.all = t.all.IsZero() || now.Before(t.all) || now.Sub(t.all) >= t.every || t.more && len(t.line) == 0
	if l.all {
		t.all = now
	}
	t.late = arrival{}
	return l
}

// anew has the next look be at all jobs: a claim has failed, or has lost its connection. If
// the database has crashed, the latest claims may be lost.
func (t *turns) anew() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = time.Time{}
}

// finding is an organization with claimable jobs.
type finding struct {
	org         []byte
	first, last time.Time // when its jobs have become claimable
}

// ended ends a look, which was made at a time of the database's. full: there may be more.
func (t *turns) ended(l *look, now time.Time, found []finding, full bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.more = t.more && !l.all || full
	last := now.Add(-lookBackFor)
	for _, f := range found {
		if f.last.After(last) {
			last = f.last
		}
		o := t.places[string(f.org)]
		switch {
		case o != nil:
			o.found++
			if f.first.Before(o.from) {
				o.from = f.first
			}
		case len(t.line) < maxTurns:
			o = &turn{org: string(f.org), from: f.first}
			t.line, t.places[o.org] = append(t.line, o), o
		default:
			t.more = true
		}
	}
	back := now.Add(-lookBack)
	if l.all {
		t.every = max(lookAtAll, 20*time.Since(l.began))
		last = back
		if t.after = []byte{}; full {
			t.after = found[len(found)-1].org
		}
		if t.held.IsZero() || now.Before(t.held) { // the first look, or the clock has gone back
			t.free, t.held = back, now
		}
		if full || len(l.after) > 0 { // it has left out organizations
			return
		}
	}
	if last.After(back) {
		last = back
	}
	if last.After(t.free) {
		t.free = last
	}
	if now.After(t.held) {
		t.held = now
	}
}

// next returns copies of the next turns, so many at most, without some organizations; and how
// many times as many jobs as it wants a claim is to pick. Those that others take it leaves.
func (t *turns) next(limit int, except []string) (next []turn, times int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range t.line {
		if len(next) == limit {
			break
		}
		if !slices.Contains(except, o.org) {
			next = append(next, *o)
		}
	}
	return next, 1 << t.met
}

// served takes the turns of a claim, with from as the claim left it. Those that are empty
// leave the line; the others up to the last one that was served go to its end. met: others
// were taking jobs that the claim picked, and it has got too few.
func (t *turns) served(next []turn, empty []bool, last int, met bool) {
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
		if o.found == next[i].found { // else a job came that the claim did not see
			if empty[i] {
				delete(t.places, o.org)
				return true
			}
			if next[i].from.After(o.from) {
				o.from = next[i].from
			}
		}
		if i <= last {
			back = append(back, o)
		}
		return i <= last
	})
	t.line = append(t.line, back...)
}
