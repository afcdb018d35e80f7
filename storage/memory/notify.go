package memory

import "sync"

// notified are the functions that are told of new jobs.
type notified struct {
	mu  sync.Mutex // held while they are called, so that stop waits for a call that has begun
	all map[*func(kind string)]bool
}

// tell calls all of them with each kind. The caller does not hold the lock of the database.
func (n *notified) tell(kinds ...string) {
	if len(kinds) == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for wake := range n.all {
		for _, kind := range kinds {
			(*wake)(kind)
		}
	}
}

// add makes wake one of them, until stop is called.
func (n *notified) add(wake func(kind string)) (stop func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.all == nil {
		n.all = make(map[*func(kind string)]bool)
	}
	n.all[&wake] = true
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.all, &wake)
	}
}
