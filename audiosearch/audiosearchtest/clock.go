package audiosearchtest

import (
	"sync"
	"time"
)

// Clock is a clock that stands until it is moved. Its zero value stands at the beginning of 2026, UTC. It is safe for concurrent
// use.
type Clock struct {
	mu      sync.Mutex
	elapsed time.Duration
}

var clockStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Now returns the clock's time. It fits the field Now of the options of package audiosearch.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return clockStart.Add(c.elapsed)
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.elapsed += d
}
