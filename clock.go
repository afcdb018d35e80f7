package mortise

import (
	"sync"
	"time"
)

// ManualClock is a clock for tests: it stands until it is moved. The fakes of the domains
// ([github.com/seed-6363c74e/mortise/trigger/triggertest] and its like) go by one, and
// several fakes can go by the same, so that a test moves the time of all at once. Its
// zero value stands at the beginning of 2026, UTC. It is safe for concurrent use.
type ManualClock struct {
	mu      sync.Mutex
	elapsed time.Duration
}

var manualStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Now returns the clock's time. It fits the field Now of an [Env].
func (c *ManualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return manualStart.Add(c.elapsed)
}

// Advance moves the clock, back if d is below 0.
func (c *ManualClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.elapsed += d
}
