package jobs

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seed-6363c74e/mortise/storage/postgres/internal/engine"
)

// jobNotifier tells the listeners of each kind of which a job has come: at once of jobs that are
// added here, and by NOTIFY of jobs that are added elsewhere.
//
// NOTIFY in the transaction that adds a job would make all such transactions of the database
// commit one after the other (PostgreSQL takes a lock for it). So it comes after the commit
// as a statement of its own, one for what was added since the last one. In a transaction of
// the host's, it is part of that.
type jobNotifier struct {
	db    *engine.DB
	turns *jobTurns
	self  string // whose notice it is, so that no listener is woken twice

	mu        sync.Mutex
	listeners map[*func(kind string)]struct{}
	stop      func()             // ends listening to the database
	untold    map[string]arrival // by the kinds that the database is still to be told of
	telling   bool
	closed    bool
	running   sync.WaitGroup
}

func newJobNotifier(db *engine.DB, turns *jobTurns) *jobNotifier {
	return &jobNotifier{db: db, turns: turns, self: rand.Text(), listeners: make(map[*func(kind string)]struct{}), stop: func() {}, untold: make(map[string]arrival)}
}

// channel is the name that notices are sent under.
func (n *jobNotifier) channel() string { return jobChannel(n.db.Schema()) }

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
		n.running.Go(func() { n.db.Hear(ctx, n.channel(), func(bool) {}, n.heard) })
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

// Added tells of a job that was committed.
func (n *jobNotifier) Added(j *newJob) {
	n.turns.came(j.kind, j.came)
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
		case <-n.db.Closed():
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
	_ = n.db.Aside(func(s *engine.Session) error {
		var kinds []string
		var ats []any
		var ages []int64
		for kind, a := range came {
			kinds, ats, ages = append(kinds, kind), append(ats, a.time()), append(ages, a.age().Microseconds())
		}
		q := s.Queued()
		q.Add(unsynced)
		q.Add(notice, n.channel(), n.self, kinds, ats, ages)
		return q.Send()
	})
}

// hostNotice begins a notice that is part of a transaction of the host's: it wakes the
// listeners of this process, too.
const hostNotice = "host "

// heard wakes the listeners for a job that another process, or a host, has added.
func (n *jobNotifier) heard(payload string) {
	from, rest, ok := strings.Cut(payload, " ")
	if !ok || from == n.self {
		return
	}
	kind, since, _ := strings.Cut(rest, " ")
	if at, err := strconv.ParseInt(since, 10, 64); err == nil {
		n.turns.came(kind, arrival{at: time.UnixMicro(at), began: time.Now()})
	}
	n.wake(kind)
}

// close ends what runs, once all that was added has been told.
func (n *jobNotifier) close() {
	n.mu.Lock()
	n.closed = true
	n.stop()
	n.mu.Unlock()
	n.running.Wait()
}
