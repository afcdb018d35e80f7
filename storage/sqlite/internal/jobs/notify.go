package jobs

import "sync"

// Notifier tells those who listen of each kind of which a job has come.
type Notifier struct {
	mu        sync.Mutex
	listeners map[*func(kind string)]struct{}
}

// listen calls wake at each notify, until stop is called.
func (n *Notifier) listen(wake func(kind string)) (stop func()) {
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

// Heard reports whether somebody listens.
func (n *Notifier) Heard() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.listeners) > 0
}

// notify calls the listeners, which do not block.
func (n *Notifier) notify(kind string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for wake := range n.listeners {
		(*wake)(kind)
	}
}
