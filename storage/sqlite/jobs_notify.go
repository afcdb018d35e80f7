package sqlite

import "sync"

// jobNotifier tells those who listen of each kind of which a job has come.
type jobNotifier struct {
	mu        sync.Mutex
	listeners map[*func(kind string)]struct{}
}

// listen calls wake at each notify, until stop is called.
func (n *jobNotifier) listen(wake func(kind string)) (stop func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners == nil {
		n.listeners = make(map[*func(kind string)]struct{})
	}
	key := &wake
	n.listeners[key] = struct{}{}
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.listeners, key)
	}
}

// heard reports whether somebody listens.
func (n *jobNotifier) heard() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.listeners) > 0
}

// notify calls the listeners, which do not block.
func (n *jobNotifier) notify(kind string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for wake := range n.listeners {
		(*wake)(kind)
	}
}
