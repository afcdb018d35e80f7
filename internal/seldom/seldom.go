// Package seldom bounds the log lines that clients can cause: one line a second for each
// key, with the number of events since the line before.
package seldom

import (
	"sync"
	"time"
)

const (
	interval = time.Second
	most     = 1 << 12 // keys, half of what is kept at most
)

// Lines counts what happens for each key, such as an organization. The zero value is ready,
// and safe for concurrent use. It keeps the 4096 latest keys at least, and twice as many at
// most: a key that is forgotten begins anew.
type Lines struct {
	mu       sync.Mutex
	new, old map[string]line
}

type line struct {
	at    time.Time // of the latest one
	count int       // what has happened since
}

// Add notes that something happened, and returns the count for a log line: what happened
// since the line before, this included. It is 0 within a second of that line. now should
// have a monotonic clock reading; if it goes back, there is a line.
func (l *Lines) Add(key string, now time.Time) (count int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.new == nil || len(l.new) >= most {
		l.old, l.new = l.new, make(map[string]line)
	}
	latest, known := l.new[key]
	if !known {
		latest = l.old[key]
		delete(l.old, key)
	}
	latest.count++
	if since := now.Sub(latest.at); since < 0 || since >= interval {
		count, latest = latest.count, line{at: now}
	}
	l.new[key] = latest
	return count
}
