package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// pullRequest asks a consumer for messages. With NoWait it ends as soon as there are no
// more, and with Expires, too, not before there was one or the time is over.
type pullRequest struct {
	Batch     int           `json:"batch"`
	NoWait    bool          `json:"no_wait"`
	Expires   time.Duration `json:"expires,omitempty"`
	Heartbeat time.Duration `json:"idle_heartbeat,omitempty"`
}

const (
	idleWait  = 30 * time.Second
	idleBeat  = time.Second     // of the server, while nothing comes
	beatWait  = 3 * time.Second // for it
	flushWait = 2 * time.Second
)

// pull asks the consumers of kinds for messages, of each for batch at most. If wait is
// true and none has any, it waits: until one comes, idleWait is over, or ctx has ended.
//
// nats.go has all this, but throws away what arrives just when a context ends. Such a job
// would wait until its AckWait is over.
func (q *Queue) pull(ctx context.Context, kinds []string, batch int, wait bool) ([]*nats.Msg, error) {
	r := pullRequest{Batch: batch, NoWait: true}
	if wait {
		r.Expires, r.Heartbeat = idleWait, idleBeat
	}
	body, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("jetstream: ask for jobs: %w", err)
	}
	inbox := q.conn.NewInbox()
	sub, err := q.conn.SubscribeSync(inbox)
	if err != nil {
		return nil, fmt.Errorf("jetstream: ask for jobs: %w", err)
	}
	p := pulling{sub: sub, open: len(kinds), want: batch * len(kinds)}
	for _, kind := range kinds {
		if err := q.conn.PublishRequest(q.pullSubject(kind), inbox, body); err != nil {
			return p.cut(q.conn), fmt.Errorf("jetstream: ask for jobs: %w", err)
		}
	}
	for p.open > 0 && len(p.got) < p.want && (len(kinds) == 1 || len(p.got) == 0) {
		waiting, cancel := context.WithTimeout(ctx, beatWait)
		m, err := sub.NextMsgWithContext(waiting)
		cancel()
		if err == nil {
			err = p.note(m)
		}
		if err == nil {
			continue
		}
		got := p.cut(q.conn)
		if ctx.Err() != nil {
			return got, nil
		}
		return got, fmt.Errorf("jetstream: wait for jobs: %w", err)
	}
	if p.open == 0 || len(p.got) == p.want { // nothing comes any more
		return p.got, sub.Unsubscribe()
	}
	return p.cut(q.conn), nil
}

func (q *Queue) pullSubject(kind string) string {
	prefix := jetstream.DefaultAPIPrefix
	switch o := q.js.Options(); {
	case o.APIPrefix != "":
		prefix = o.APIPrefix
	case o.Domain != "":
		prefix = "$JS." + o.Domain + ".API."
	}
	return prefix + "CONSUMER.MSG.NEXT." + q.opts.Name + "." + kind
}

// pulling is a pull that is under way.
type pulling struct {
	sub  *nats.Subscription
	open int // requests that have not ended
	want int // messages at most
	got  []*nats.Msg
}

// note takes one answer: a message, or what has become of a request.
func (p *pulling) note(m *nats.Msg) error {
	status := m.Header.Get("Status")
	switch {
	case m.Reply != "" && status == "":
		p.got = append(p.got, m)
	case status == "100": // a heartbeat
	case status == "404", status == "408": // no messages, or none within the time
		p.open--
	case status == "503":
		return nats.ErrNoResponders
	default:
		return fmt.Errorf("the server answers %s %s", status, m.Header.Get("Description"))
	}
	return nil
}

// cut ends the requests that are open. It returns all messages that the server has sent.
func (p *pulling) cut(conn *nats.Conn) []*nats.Msg {
	// The server sends nothing any more once it knows, and what it sent before that is
	// here when it has answered.
	if err := p.sub.Drain(); err != nil {
		return p.got
	}
	_ = conn.FlushTimeout(flushWait)
	for {
		if n, _, err := p.sub.Pending(); err != nil || n == 0 {
			return p.got
		}
		m, err := p.sub.NextMsg(flushWait)
		if errors.Is(err, nats.ErrBadSubscription) || errors.Is(err, nats.ErrTimeout) || m == nil {
			return p.got
		}
		_ = p.note(m) // the requests are over anyway
	}
}
