package postgres

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
)

// jobNotifier tells those who listen of each kind of which a job has come: at once of those
// that are added here, and by NOTIFY of those that are added elsewhere.
//
// NOTIFY in the transaction that adds a job would make all such transactions of the database
// commit one after the other (PostgreSQL takes a lock for it). So it comes after the commit
// as a statement of its own, one for what was added since the last one. In a transaction of
// the host's, it is part of that.
type jobNotifier struct {
	db   *DB
	self string // whose notice it is, so that nobody is woken twice

	mu        sync.Mutex
	listeners map[*func(kind string)]struct{}
	stop      func()             // ends listening to the database
	untold    map[string]arrival // by the kinds that the database is still to be told of
	telling   bool
	closed    bool
	running   sync.WaitGroup
}

func newJobNotifier(db *DB) *jobNotifier {
	return &jobNotifier{db: db, self: rand.Text(), listeners: make(map[*func(kind string)]struct{}), stop: func() {}, untold: make(map[string]arrival)}
}

// channel is the name that notices are sent under.
func (n *jobNotifier) channel() string { return jobChannel(n.db.opts.Schema) }

// jobChannel returns a name of 63 bytes at most: pg_notify refuses a longer one.
func jobChannel(schema string) string {
	if name := schema + "_jobs"; len(name) <= 63 {
		return name
	}
	digest := sha256.Sum256([]byte(schema))
	return fmt.Sprintf("mortise_jobs_%x", digest[:16])
}

// listen calls wake for each notice, until stop is called.
func (n *jobNotifier) listen(wake func(kind string)) (stop func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	key := &wake
	n.listeners[key] = struct{}{}
	if len(n.listeners) == 1 && !n.closed {
		ctx, cancel := context.WithCancel(context.Background())
		n.stop = cancel
		n.running.Go(func() { n.db.hear(ctx, n.channel(), func(bool) {}, n.heard) })
	}
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if _, there := n.listeners[key]; !there {
			return
		}
		if delete(n.listeners, key); len(n.listeners) == 0 {
			n.stop()
		}
	}
}

// wake calls the listeners, which do not block.
func (n *jobNotifier) wake(kind string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for wake := range n.listeners {
		(*wake)(kind)
	}
}

// added tells of a job that was committed.
func (n *jobNotifier) added(j *newJob) {
	n.db.turns.came(j.kind, j.came)
	n.wake(j.kind)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.untold[j.kind] = n.untold[j.kind].or(j.came)
	if !n.telling && !n.closed {
		n.telling = true
		n.running.Go(n.tell)
	}
}

// tellAgain is the shortest time between two notices of one process.
const tellAgain = 5 * time.Millisecond

// tell sends notices until there is nothing to tell, after Close, too. One that is lost costs
// others the time until their next poll.
func (n *jobNotifier) tell() {
	for {
		n.mu.Lock()
		if len(n.untold) == 0 {
			n.telling = false
			n.mu.Unlock()
			return
		}
		came := n.untold
		n.untold = make(map[string]arrival)
		n.mu.Unlock()
		n.send(came)
		select {
		case <-time.After(tellAgain):
		case <-n.db.closed:
		}
	}
}

// notice says since when jobs of kinds may have been there, which came at a time, if one is
// given, or whose insertion began so long ago.
const notice = "SELECT pg_notify($1, $2 || ' ' || kind || ' ' || (extract(epoch FROM" +
	" least(at, statement_timestamp() - age * interval '1 microsecond')) * 1000000)::bigint)" +
	" FROM unnest($3::text[], $4::timestamptz[], $5::bigint[]) AS n (kind, at, age)"

// send sends the notices of these kinds.
func (n *jobNotifier) send(came map[string]arrival) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), n.db.opts.Timeout, errTimeout)
	defer cancel()
	_ = n.db.try(ctx, func(s *session) (committing bool, err error) {
		var kinds []string
		var ats []any
		var ages []int64
		for kind, a := range came {
			kinds, ats, ages = append(kinds, kind), append(ats, a.time()), append(ages, a.age().Microseconds())
		}
		q := queued{s: s}
		q.add(unsynced)
		q.add(notice, n.channel(), n.self, kinds, ats, ages)
		return false, q.send()
	})
}

// hostNotice begins a notice that is part of a transaction of the host's: it wakes those of
// this process, too.
const hostNotice = "host "

// heard wakes the listeners for a job that another process, or a host, has added.
func (n *jobNotifier) heard(payload string) {
	from, rest, ok := strings.Cut(payload, " ")
	if !ok || from == n.self {
		return
	}
	kind, since, _ := strings.Cut(rest, " ")
	if at, err := strconv.ParseInt(since, 10, 64); err == nil {
		n.db.turns.came(kind, arrival{at: time.UnixMicro(at), began: time.Now()})
	}
	n.wake(kind)
}

// hear calls got for each notice of a channel, until ctx ends, and tried whenever it has begun
// to listen, or could not. A notice that comes while there is no connection is lost.
func (db *DB) hear(ctx context.Context, channel string, tried func(listens bool), got func(payload string)) {
	for pause := 10 * time.Millisecond; ctx.Err() == nil; pause = min(2*pause, 5*time.Second) {
		began := time.Now()
		_ = db.hearOnce(ctx, channel, tried, got)
		if time.Since(began) > time.Minute {
			pause = 10 * time.Millisecond
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// listenConfig returns Options.Listen, or how the pool connects: with the password that its
// BeforeConnect gets, where that changes.
func (db *DB) listenConfig(ctx context.Context) (*pgx.ConnConfig, error) {
	if config := db.opts.Listen; config != nil {
		return config.Copy(), nil
	}
	pool := db.pool.Config()
	if pool.BeforeConnect == nil {
		return pool.ConnConfig, nil
	}
	return pool.ConnConfig, pool.BeforeConnect(ctx, pool.ConnConfig)
}

func (db *DB) hearOnce(ctx context.Context, channel string, tried func(listens bool), got func(payload string)) error {
	listens := false
	defer func() {
		if !listens {
			tried(false)
		}
	}()
	connecting, cancel := context.WithTimeout(ctx, db.opts.Timeout)
	defer cancel()
	config, err := db.listenConfig(connecting)
	if err != nil {
		return err
	}
	// Nothing runs on the server that could be cancelled: a host's handler may wait for that
	// before it gives up.
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.DeadlineContextWatcherHandler{Conn: c.Conn()}
	}
	conn, err := pgx.ConnectConfig(connecting, config)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(connecting, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return err
	}
	listens = true
	tried(true)
	for {
		// A connection that is cut without a word is found out by asking.
		waiting, cancel := context.WithTimeout(ctx, time.Minute)
		notice, err := conn.WaitForNotification(waiting)
		cancel()
		switch {
		case err == nil:
			got(notice.Payload)
		case ctx.Err() != nil:
			return ctx.Err()
		case waiting.Err() != nil && !conn.IsClosed():
			asking, cancel := context.WithTimeout(ctx, db.opts.Timeout)
			err := conn.Ping(asking)
			cancel()
			if err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// close ends what runs, once all that was added has been told.
func (n *jobNotifier) close() {
	n.mu.Lock()
	n.closed = true
	n.stop()
	n.mu.Unlock()
	n.running.Wait()
}
