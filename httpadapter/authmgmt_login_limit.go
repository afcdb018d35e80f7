package httpadapter

import (
	"context"
	"crypto/sha256"
	"net/netip"
	"sync"
	"time"
)

const (
	loginWindow      = time.Minute
	defaultLogins    = 30
	maxLoginsCounted = 1 << 14 // client IDs and addresses, half of what is kept at most
)

// failedLogins bounds how many logins fail within loginWindow, for one client ID and
// address. It keeps the ones that it heard of last.
type failedLogins struct {
	most int

	mu       sync.Mutex
	new, old map[[32]byte]*loginCount
	newSince time.Time
}

// loginCount is of one client ID and address.
type loginCount struct {
	failed  []time.Time // within the window, the oldest first; at most failedLogins.most
	running int
	ended   chan struct{} // closed when one of running ends; nil: nobody waits
}

// newFailedLogins returns nil if nothing is to be counted.
func newFailedLogins(most int) *failedLogins {
	switch {
	case most < 0:
		return nil
	case most == 0:
		most = defaultLogins
	}
	return &failedLogins{most: most, new: make(map[[32]byte]*loginCount)}
}

// enter waits until the outcome of a login may be told, or returns a [RateLimitError]. The
// function that it returns ends the login. Logins that are under way count as if they had
// failed, or else a thousand at once could guess.
func (f *failedLogins) enter(ctx context.Context, id, address string) (end func(failed bool), err error) {
	if f == nil {
		return func(bool) {}, nil
	}
	key := loginKey(id, address)
	for {
		wait, err := f.tryEnter(key)
		if err != nil {
			return nil, err
		}
		if wait == nil {
			return func(failed bool) { f.end(key, failed) }, nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// tryEnter returns what to wait for if there may be too many.
func (f *failedLogins) tryEnter(key [32]byte) (wait <-chan struct{}, err error) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.count(key, now)
	for len(c.failed) > 0 && now.Sub(c.failed[0]) >= loginWindow {
		c.failed = c.failed[1:]
	}
	if len(c.failed) >= f.most {
		return nil, &RateLimitError{RetryAfter: loginWindow - now.Sub(c.failed[0])}
	}
	if len(c.failed)+c.running < f.most {
		c.running++
		return nil, nil
	}
	if c.ended == nil {
		c.ended = make(chan struct{})
	}
	return c.ended, nil
}

func (f *failedLogins) end(key [32]byte, failed bool) {
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.count(key, now)
	c.running--
	if failed {
		c.failed = append(c.failed, now)
	}
	if c.ended != nil {
		close(c.ended)
		c.ended = nil
	}
}

// count returns what is known of a key. When a window has passed, or there are many, what
// is new becomes old, and what was old is forgotten, but for what is under way.
func (f *failedLogins) count(key [32]byte, now time.Time) *loginCount {
	if len(f.new) >= maxLoginsCounted || now.Sub(f.newSince) >= loginWindow {
		kept := make(map[[32]byte]*loginCount)
		for k, c := range f.old {
			if c.running > 0 {
				kept[k] = c
			}
		}
		f.old, f.new, f.newSince = f.new, kept, now
	}
	c := f.new[key]
	if c == nil {
		if c = f.old[key]; c == nil {
			c = new(loginCount)
		}
		delete(f.old, key)
		f.new[key] = c
	}
	return c
}

// loginKey is of fixed length, whatever a client sends.
func loginKey(id, remote string) [32]byte {
	address := remote
	if at, err := netip.ParseAddrPort(remote); err == nil {
		ip := at.Addr().Unmap()
		address = ip.String()
		if ip.Is6() {
			prefix, _ := ip.WithZone("").Prefix(64) // 64 bits are one subscriber's
			address = prefix.String()
		}
	}
	return sha256.Sum256([]byte(address + "\x00" + id))
}
