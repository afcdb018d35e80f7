package httpadapter

import (
	"errors"
	"math"
	"net/http"
	"sync"
	"time"
)

// CallerLimit bounds how many requests a second each caller may make. A caller is a
// subject of an organization, with whatever credentials they have. Over it they get
// 429, and what is refused does not count. It is of one process: each server counts for
// itself. It is safe for concurrent use, and several services may share one:
//
//	limit, err := httpadapter.NewCallerLimit(20)
//	triggers, err := httpadapter.NewTrigger(service, limit.Around(auth), nil)
type CallerLimit struct {
	pace   time.Duration // between requests in the long run
	ahead  time.Duration // by which a request may come before its time
	mu     sync.Mutex
	next   map[[2]string]time.Time // when a caller's next request would be at that pace
	forgot time.Time
}

// maxRate is what a limit may be: more is as good as none.
const maxRate = 1e6

// NewCallerLimit returns a limit of perSecond requests a second, above 0 and at most a
// million. As many may come at once, one at least, from a caller who has not asked for a
// while.
func NewCallerLimit(perSecond float64) (*CallerLimit, error) {
	if !(perSecond > 0 && perSecond <= maxRate) { // NaN is neither
		return nil, errors.New("httpadapter: the limit of a caller must be above 0, and at most 1000000 requests a second")
	}
	pace := time.Duration(min(float64(time.Second)/perSecond, math.MaxInt64/4))
	atOnce := time.Duration(max(1, math.Ceil(perSecond)))
	return &CallerLimit{pace: pace, ahead: (atOnce - 1) * pace, next: make(map[[2]string]time.Time)}, nil
}

// Around returns an Authenticator that asks a, and then counts the request for the caller
// whom a names. Over the limit the answer is 429 with Retry-After, in the shape of the
// service, before the method, the body or anything else of the request is looked at. A
// request that a refuses does not count. Of several authenticators ([FirstOf]) it is round
// the whole, or round the ones whose callers are to be limited.
func (l *CallerLimit) Around(a Authenticator) Authenticator { return limited{a, l} }

type limited struct {
	authenticator Authenticator
	limit         *CallerLimit
}

// Authenticate returns the caller with a [RateLimitError], too.
func (l limited) Authenticate(r *http.Request) (Principal, error) {
	if err := l.check(); err != nil { // a host may ask it without a Handler
		return Principal{}, err
	}
	p, err := l.authenticator.Authenticate(r)
	if err != nil {
		return withCaller(p, err)
	}
	if wait := l.limit.take(p, time.Now()); wait > 0 {
		return p, &RateLimitError{RetryAfter: wait}
	}
	return p, nil
}

// withCaller passes on the error of an authenticator: a [RateLimitError] alone comes with
// the caller.
func withCaller(p Principal, err error) (Principal, error) {
	var limit *RateLimitError
	if !errors.As(err, &limit) {
		p = Principal{}
	}
	return p, err
}

// check finds a missing part, also in the authenticator.
func (l limited) check() error {
	if l.authenticator == nil || l.limit == nil {
		return errors.New("httpadapter: CallerLimit.Around needs a limit and an authenticator")
	}
	return checkAuthenticator(l.authenticator)
}

// callersKept is how many callers are remembered before those are forgotten who have not
// asked for a while.
const callersKept = 1000

// take returns how long a caller has to wait, 0 if their request counts. That is the
// generic cell rate algorithm (ITU-T I.371).
func (l *CallerLimit) take(p Principal, now time.Time) time.Duration {
	who := [2]string{p.Organization, p.Subject}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.next) > callersKept && now.Sub(l.forgot) > time.Second {
		l.forgot = now
		for other, next := range l.next {
			if !next.After(now) { // as a new one
				delete(l.next, other)
			}
		}
	}
	next := l.next[who]
	if next.Before(now) {
		next = now
	}
	if wait := next.Sub(now) - l.ahead; wait > 0 {
		return wait
	}
	l.next[who] = next.Add(l.pace)
	return 0
}
