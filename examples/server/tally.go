package main

import (
	"strconv"
	"sync"
	"time"
)

// tally counts what the services have done for one organization since the process began,
// as their observers tell. A nil one counts nothing.
type tally struct {
	organization string
	since        time.Time

	mu sync.Mutex
	n  map[[2]string]int // by service and kind
}

func newTally(organization string) *tally {
	return &tally{organization: organization, since: time.Now(), n: make(map[[2]string]int)}
}

// add counts n things of a kind, if they are the organization's.
func (t *tally) add(organization, service, kind string, n int) {
	if t == nil || organization != t.organization {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n[[2]string{service, kind}] += n
}

// of returns the count of a kind, for people.
func (t *tally) of(service, kind string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strconv.Itoa(t.n[[2]string{service, kind}])
}
