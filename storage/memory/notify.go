package memory

import "sync"

// wakers are the functions that NotifyJobs was given.
type wakers struct {
	mu  sync.Mutex // held while they are called, so that stop waits for a call that has begun
	all map[*func()]bool
}

// wake calls all of them. The caller does not hold the lock of the database.
func (w *wakers) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for wake := range w.all {
		(*wake)()
	}
}

// add makes wake one of them, until stop is called.
func (w *wakers) add(wake func()) (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all[&wake] = true
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.all, &wake)
	}
}

// notified are the functions that are told of new jobs.
type notified struct {
	mu  sync.Mutex // held while they are called, so that stop waits for a call that has begun
	all map[*func(kind string)]bool
}

// tell calls all of them. The caller does not hold the lock of the database.
func (n *notified) tell(kind string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for wake := range n.all {
		(*wake)(kind)
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
