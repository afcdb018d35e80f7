package httpadapter

import (
	"crypto/sha256"
	"net/netip"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise/internal/seldom"
)

const (
	loginWindow      = time.Minute
	defaultLogins    = 30
	maxLoginsCounted = 1 << 14 // client IDs and addresses, half of what is kept at most
)

// failedLogins counts the logins that fail within loginWindow, for one client ID and
// address. It forgets the oldest keys. It never refuses the right secret, or else wrong
// secrets from one address would keep a client out. A secret of 32 bytes cannot be guessed,
// so the limit protects the storage alone.
type failedLogins struct {
	most  int          // below 0: no limit
	lines seldom.Lines // of the log, for all keys together: a stranger can cause any number

	mu       sync.Mutex
	new, old map[[32]byte][]time.Time // within the window, the oldest first; at most most
	newSince time.Time
}

func newFailedLogins(most int) *failedLogins {
	if most == 0 {
		most = defaultLogins
	}
	return &failedLogins{most: most, new: make(map[[32]byte][]time.Time)}
}

// add counts a login that failed. err is a [RateLimitError] if too many failed before it. log
// is the count for a log line: 0 within a second of the last line.
func (f *failedLogins) add(id, remote string) (log int, err error) {
	now := time.Now()
	log = f.lines.Add("", now)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.most < 0 {
		return log, nil
	}
	key := loginKey(id, remote)
	failed := f.recent(key, now)
	if len(failed) >= f.most {
		return log, &RateLimitError{RetryAfter: loginWindow - now.Sub(failed[0])}
	}
	f.new[key] = append(failed, now)
	return log, nil
}

// recent returns the failures of a key within the window. When a window has passed, or
// there are many keys, the new ones become old ones, and the old ones are forgotten.
func (f *failedLogins) recent(key [32]byte, now time.Time) []time.Time {
	if len(f.new) >= maxLoginsCounted || now.Sub(f.newSince) >= loginWindow {
		f.old, f.new, f.newSince = f.new, make(map[[32]byte][]time.Time), now
	}
	failed, known := f.new[key]
	if !known {
		failed = f.old[key]
		delete(f.old, key)
	}
	for len(failed) > 0 && now.Sub(failed[0]) >= loginWindow {
		failed = failed[1:]
	}
	if len(failed) > 0 {
		f.new[key] = failed
	}
	return failed
}

// loginKey is of fixed length, whatever a client sends.
func loginKey(id, remote string) [32]byte {
	return sha256.Sum256([]byte(subscriber(remote) + "\x00" + id))
}

// subscriber is the address of http.Request.RemoteAddr, with or without a port. Of IPv6 it is
// the first 64 bits, which belong to one subscriber.
func subscriber(remote string) string {
	ip, err := netip.ParseAddr(remote) // as some middleware sets it
	if at, ofServer := netip.ParseAddrPort(remote); ofServer == nil {
		ip, err = at.Addr(), nil
	}
	if err != nil {
		return remote
	}
	if ip = ip.Unmap(); ip.Is6() {
		prefix, _ := ip.WithZone("").Prefix(64)
		return prefix.String()
	}
	return ip.String()
}
