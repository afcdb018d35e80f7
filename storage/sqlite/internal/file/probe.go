package file

import (
	"context"
	"errors"
	"net/url"
	"time"
)

// Probe is a file as the tests of the rooms and of the whole see it. Nothing else uses it.
type Probe struct{ f *File }

// Probe returns the file's.
func (f *File) Probe() Probe { return Probe{f} }

// Path is where the file is.
func (p Probe) Path() string { return p.f.finder.source.path }

// Waiting is how many operations wait for the writer.
func (p Probe) Waiting() int { return len(p.f.writer.ops) }

// Connect returns a connection that nothing else has, as the readers' are, or with settings of
// the driver.
func (p Probe) Connect(settings url.Values) (*Conn, error) {
	s := p.f.finder.source
	if settings != nil {
		var err error
		if s, err = newSource(s.path, settings); err != nil {
			return nil, err
		}
	}
	return s.connect()
}

// ConnectAll makes all connections that the readers may have, while none is in use.
func (p Probe) ConnectAll() error {
	for _, r := range []*reader{p.f.finder, p.f.lister} {
		for len(r.conns) < cap(r.conns) {
			c, err := r.source.connect()
			if err != nil {
				return err
			}
			r.conns <- c
		}
	}
	return nil
}

// Check checks tables as it is done behind the calls.
func (p Probe) Check(tables ...string) error {
	behind, err := newChecker(p.Path(), tables, false, checks{table: checkTable})
	if err == nil && !behind.checkAll(tables) {
		err = errors.New("not checked")
	}
	return err
}

// Note has each statement that is prepared in this process from now on told to f.
func (Probe) Note(f func(text string)) { noted = f }

// CallsInTx has each call of the stores and queues made in a transaction of InTx, of its own.
// So the suites find the calls that do not work there.
func (p Probe) CallsInTx() {
	p.f.writer.hosted = func(ctx context.Context, do func(*Tx) error) error {
		return p.inTx(ctx, func(h *hostTx) error { return h.write(ctx, do) })
	}
	read := func(ctx context.Context, do func(*Conn) error) error {
		return p.inTx(ctx, func(h *hostTx) error { return h.read(ctx, do) })
	}
	p.f.finder.hosted, p.f.lister.hosted = read, read
}

// Inside has f called in each transaction of the writer's, behind the writes of an operation.
func (p Probe) Inside(f func()) {
	p.f.writer.hosted = func(ctx context.Context, do func(*Tx) error) error {
		return p.f.writer.queue(ctx, time.Now(), func(t *Tx) error {
			err := do(t)
			f()
			return err
		})
	}
}

// inTx calls do in a transaction, which its failure does not end: a savepoint is enough.
func (p Probe) inTx(ctx context.Context, do func(*hostTx) error) error {
	var failed error
	err := p.f.InTx(ctx, func(ctx context.Context, tx *HostTx) error {
		failed = do(tx.h)
		return nil
	})
	return errors.Join(failed, err)
}
