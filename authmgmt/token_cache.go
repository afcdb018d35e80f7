package authmgmt

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"
)

// tokenCache remembers tokens for a short time. A change that this service makes empties
// it; what other processes change is seen when the time is over.
type tokenCache struct {
	keep time.Duration

	mu      sync.Mutex
	emptied uint64    // how often
	shut    time.Time // nothing is remembered before
	tokens  map[[32]byte]cachedToken
}

type cachedToken struct {
	token Token
	until time.Time
}

// maxCachedTokens bounds the cache. A full one is emptied: which tokens are in use shows
// soon enough.
const maxCachedTokens = 10_000

// get returns a token, or the mark that put needs.
func (c *tokenCache) get(digest [32]byte, now time.Time) (t Token, found bool, mark uint64) {
	if c.keep <= 0 {
		return Token{}, false, 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if cached, ok := c.tokens[digest]; ok && now.Before(cached.until) {
		return cached.token, true, 0
	}
	return Token{}, false, c.emptied
}

// put remembers a token that was read after the mark, unless something has changed since.
func (c *tokenCache) put(t Token, now time.Time, mark uint64) {
	if c.keep <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.emptied != mark || now.Before(c.shut) {
		return
	}
	if c.tokens == nil || len(c.tokens) >= maxCachedTokens {
		c.tokens = make(map[[32]byte]cachedToken)
	}
	c.tokens[t.Digest] = cachedToken{token: t, until: now.Add(c.keep)}
}

// forget forgets the tokens of an organization that was deleted, by this service or by
// another one, and whatever is being read just now.
func (c *tokenCache) forget(org string) {
	if c.keep <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.emptied++
	maps.DeleteFunc(c.tokens, func(_ [32]byte, kept cachedToken) bool { return kept.token.Organization == org })
}

// uncertain is for how long a change that failed, or that the host has not committed, may
// still be made: its caller may have left while the store was at it.
const uncertain = time.Minute

// empty forgets everything. It is called after every change that could end a token, or
// change what it allows.
func (c *tokenCache) empty(now time.Time, err error) {
	if c.keep <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.emptied++
	c.tokens = nil
	if err != nil {
		c.shut = now.Add(uncertain)
	}
}

// errUncommitted stands for what may still be rolled back.
var errUncommitted = errors.New("authmgmt: the host has not committed it yet")

// tokensChanged forgets all tokens. A change in a transaction of the host's is one that may
// still be made: until its commit, others read the tokens as they were.
func (s *Service) tokensChanged(ctx context.Context, err error) {
	if err == nil && s.hosted(ctx) {
		err = errUncommitted
	}
	s.verified.empty(s.opts.Now(), err)
}
