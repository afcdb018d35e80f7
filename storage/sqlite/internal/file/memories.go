package file

import "sync"

// Memories are values of the rooms, the packages beside this one, which live as long as their
// owner: a connection, a transaction, the writer. The owner knows none of the types. There is
// one value of a type.
//
// A value of the writer's transaction may be a [settler], one of a connection a [forgetter].
type Memories struct {
	mu  sync.Mutex // two goroutines can have one transaction of the host's
	all []any      // pointers
}

// MemoryOf returns the memory of a type, a zero one at first.
func MemoryOf[T any](m *Memories) *T {
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
func (m *Memories) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.all)
	m.all = m.all[:0]
}

// settler is a memory of a transaction that writes what it has gathered before the commit.
type settler interface{ Settle(c *Conn) error }

// settle is called in a transaction, before its end.
func (m *Memories) settle(c *Conn) error {
	for _, kept := range m.all {
		if s, ok := kept.(settler); ok {
			if err := s.Settle(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// forgetter is a memory of rows that the writer's connection has read. It stays good until
// another connection writes to the file, or this one runs a statement for which Conn.forgets
// returns true.
type forgetter interface {
	Forget()
	// Committing is called before a commit, and Committed after it.
	Committing(c *Conn)
	Committed(c *Conn)
}

// forgetters calls f with each forgetter.
func (m *Memories) forgetters(f func(forgetter)) {
	for _, kept := range m.all {
		if kept, ok := kept.(forgetter); ok {
			f(kept)
		}
	}
}
