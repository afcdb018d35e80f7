package sqlite

import "sync"

// memories are what the parts of this package that keep a domain remember, for as long as
// the owner lives: a connection, a transaction, the writer. The owner knows none of them. Each
// part has a type of its own, of which there is one value.
//
// A value of a transaction may be a [settler], one of a connection a [forgetter].
type memories struct {
	mu  sync.Mutex
	all []any // pointers
}

// memoryOf returns the memory of a type, a zero one at first.
func memoryOf[T any](m *memories) *T {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, kept := range m.all {
		if v, ok := kept.(*T); ok {
			return v
		}
	}
	v := new(T)
	m.all = append(m.all, v)
	return v
}

// clear forgets all of it.
func (m *memories) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.all)
	m.all = m.all[:0]
}

// settler is a memory of a transaction that writes what it has gathered before the commit.
type settler interface{ settle(c *conn) error }

// settle is called in a transaction, before its end.
func (m *memories) settle(c *conn) error {
	for _, kept := range m.all {
		if s, ok := kept.(settler); ok {
			if err := s.settle(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// forgetter is a memory of what the writer's connection has read. It stays good until
// another connection writes, or this one by a statement that forgets names.
type forgetter interface {
	forget()
	// committing is called before a commit, and committed after it.
	committing(c *conn)
	committed(c *conn)
}

// forgetters calls f with each forgetter.
func (m *memories) forgetters(f func(forgetter)) {
	for _, kept := range m.all {
		if kept, ok := kept.(forgetter); ok {
			f(kept)
		}
	}
}
