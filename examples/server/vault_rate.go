package main

import (
	"context"
	"math"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/seed-6363c74e/mortise/httpadapter"
)

// tokenizeLimit bounds how many tokenize requests a second a caller makes (-tokenize-rate).
// A caller is an organization's client or person, with all of their tokens. Each server
// counts for itself.
type tokenizeLimit struct {
	next  httpadapter.Authenticator
	limit rate.Limit
	burst int

	mu      sync.Mutex
	callers map[[2]string]*rate.Limiter // by organization and subject
	swept   time.Time
}

// limitTokenize returns the authenticator and options of a vault whose tokenize requests
// are limited, if that was asked for.
func limitTokenize(perSecond float64, auth httpadapter.Authenticator, opts *httpadapter.VaultOptions) httpadapter.Authenticator {
	if perSecond == 0 {
		return auth
	}
	opts.Wrap = func(op httpadapter.Operation, next http.Handler) http.Handler {
		if op.ID != "tokenize" {
			return next
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), tokenizing{}, true)))
		})
	}
	return &tokenizeLimit{
		next: auth, limit: rate.Limit(perSecond), burst: int(max(1, math.Ceil(perSecond))), callers: make(map[[2]string]*rate.Limiter),
	}
}

// tokenizing marks the context of a tokenize request.
type tokenizing struct{}

// Authenticate implements [httpadapter.Authenticator].
func (l *tokenizeLimit) Authenticate(r *http.Request) (httpadapter.Principal, error) {
	p, err := l.next.Authenticate(r)
	if err != nil || r.Context().Value(tokenizing{}) == nil {
		return p, err
	}
	now := time.Now()
	place := l.caller([2]string{p.Organization, p.Subject}, now).ReserveN(now, 1)
	if wait := place.DelayFrom(now); wait > 0 {
		place.CancelAt(now)
		return p, &httpadapter.RateLimitError{RetryAfter: wait}
	}
	return p, nil
}

// callersKept is how many callers are remembered before those are forgotten who have not
// asked for a while.
const callersKept = 1000

func (l *tokenizeLimit) caller(who [2]string, now time.Time) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.callers) > callersKept && now.Sub(l.swept) > time.Second {
		l.swept = now
		for other, c := range l.callers {
			if c.TokensAt(now) >= float64(l.burst) { // as a new one
				delete(l.callers, other)
			}
		}
	}
	c := l.callers[who]
	if c == nil {
		c = rate.NewLimiter(l.limit, l.burst)
		l.callers[who] = c
	}
	return c
}
