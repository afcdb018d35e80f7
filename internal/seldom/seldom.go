// Package seldom bounds the log lines that clients can cause: one line a second for each
// key, with the number of events since the line before.
package seldom

import (
	"sync"
	"time"
)

const (
	interval = time.Second
	most     = 1 << 12 // keys, half of the most that are kept
)

// Lines counts events of each key, such as an organization. The zero value is ready,
// and safe for concurrent use. It keeps the 4096 latest keys at least, and twice as many at
// most: a key that is forgotten begins anew.
type Lines struct {
	mu       sync.Mutex
	new, old map[string]line
}

type line struct {
	at    time.Time // of the latest one
	count int       // of events since
}

// Add notes an event, and returns the count for a log line: the events since the line
// before, this one included. It is 0 within a second of that line. now should
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
