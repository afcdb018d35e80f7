package engine

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// commits calls what is to come after the commit of a transaction of the host's, which only
// PostgreSQL learns of: a notice that is part of the transaction comes back once it is
// committed, and never if it is rolled back. What a lost connection swallows is left to a
// sweeper.
type commits struct {
	db      *DB
	channel string // of this DB alone

	begin   sync.Once
	tried   chan struct{} // closed once it was tried to listen
	listens atomic.Bool   // it has worked once
	stop    context.CancelFunc
	places  chan struct{} // of the functions that run
	running sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	last    uint64
	waiting map[uint64]afterCommit
	cleared time.Time // when those were last removed that wait in vain
}

type afterCommit struct {
	f     func()
	since time.Time
}

const (
	// maxCommits bounds the functions that wait. More are left to a sweeper.
	maxCommits = 10000

	// forgetCommit is after what time a transaction is taken for rolled back.
	forgetCommit = 10 * time.Minute

	// atOnceCommits is how many functions run at a time: each waits for a broker.
	atOnceCommits = 16
)

func newCommits(db *DB) *commits {
	return &commits{
		db: db, channel: commitChannel(db.schema), tried: make(chan struct{}), stop: func() {},
		places: make(chan struct{}, atOnceCommits), waiting: make(map[uint64]afterCommit),
	}
}

// commitChannel returns a name that no other DB has. A name has at most 63 bytes.
func commitChannel(schema string) string {
	return schema[:min(len(schema), 28)] + "_commit_" + strings.ToLower(rand.Text())
}

// after calls f with a context that is not part of the host's transaction once that is
// committed. It waits until this process listens, which takes a moment the first time.
func (c *commits) after(ctx context.Context, host pgx.Tx, f func(ctx context.Context)) {
	if !c.listen(ctx) {
		return
	}
	outside := context.WithValue(context.WithoutCancel(ctx), hostTxKey{}, nil)
	n, ok := c.add(func() { f(outside) })
	if !ok {
		return
	}
	err := c.db.within(ctx, host, func(s *Session) error {
		_, err := s.Exec("SELECT pg_notify($1, $2)", c.channel, strconv.FormatUint(n, 10))
		return err
	})
	if err != nil {
		c.take(n)
	}
}

// listen reports whether this process listens, which it waits for once: a host's transaction
// must not be held up, each time, by a connection that cannot be made.
func (c *commits) listen(ctx context.Context) bool {
	c.begin.Do(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.closed {
			return
		}
		var hearing context.Context
		hearing, c.stop = context.WithCancel(context.Background())
		first := sync.OnceFunc(func() { close(c.tried) })
		c.running.Go(func() {
			c.db.Hear(hearing, c.channel, func(listens bool) {
				if listens {
					c.listens.Store(true)
				}
				first()
			}, c.committed)
		})
	})
	ctx, cancel := context.WithTimeout(ctx, c.db.timeout)
	defer cancel()
	select {
	case <-c.tried:
		return c.listens.Load()
	case <-c.db.closed:
	case <-ctx.Done():
	}
	return false
}

// add has f wait, and returns its number.
func (c *commits) add(f func()) (n uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if now.Sub(c.cleared) > forgetCommit/10 {
		c.cleared = now
		for n, w := range c.waiting {
			if now.Sub(w.since) > forgetCommit {
				delete(c.waiting, n)
			}
		}
	}
	if c.closed || len(c.waiting) >= maxCommits {
		return 0, false
	}
	c.last++
	c.waiting[c.last] = afterCommit{f: f, since: now}
	return c.last, true
}

// take returns a function that waits, or nil, and has it wait no longer.
func (c *commits) take(n uint64) (f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f = c.waiting[n].f
	delete(c.waiting, n)
	return f
}

// committed gets the notices.
func (c *commits) committed(payload string) {
	n, err := strconv.ParseUint(payload, 10, 64)
	f := c.take(n)
	if err != nil || f == nil {
		return
	}
	// It is called by what close waits for, so running is not zero.
	c.running.Go(func() {
		select {
		case c.places <- struct{}{}:
			defer func() { <-c.places }()
			f()
		case <-c.db.closed:
		}
	})
}

// close ends what runs.
func (c *commits) close() {
	c.mu.Lock()
	c.closed = true
	c.stop()
	c.mu.Unlock()
	c.running.Wait()
}

// AfterCommit implements [mortise.HostTx].
func (db *DB) AfterCommit(ctx context.Context, f func(ctx context.Context)) bool {
	host := HostTx(ctx)
	if host == nil {
		return false
	}
	if f != nil {
		db.commits.after(ctx, host, f)
	}
	return true
}
