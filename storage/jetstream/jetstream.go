package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/seed-6363c74e/mortise"
)

// Options are the settings of a queue. The zero value means the defaults.
//
// Those of streams and consumers count when they are created. One that is there stays as
// operators have set it: change it with "nats stream edit" and "nats consumer edit", and
// start the programs anew.
type Options struct {
	// Name is the name of the stream of jobs, and the first token of all subjects:
	// "MORTISE". Dead letters are in the stream NAME_DEAD, for 30 days, and the newest
	// 64 MiB of them alone. 1 to 64 of A-Z, a-z, 0-9, '_'
	// and '-'.
	Name string

	Replicas int // of both streams, on a cluster: 1

	// AckWait is how long a job is held without a heartbeat: 15 s. A heartbeat comes each
	// third of it. At least 100 ms.
	AckWait time.Duration

	// Synced says that what the server has acknowledged outlives its crash, because it has
	// sync_interval: always. Without it, New counts as a loss: see LostJobs.
	Synced bool

	Logger *slog.Logger // slog.Default()
}

const (
	maxName    = 64
	minAckWait = 100 * time.Millisecond

	deadAge   = 30 * 24 * time.Hour // how long a dead letter is kept
	deadBytes = 64 << 20            // how much of dead letters is kept, the newest

	// maxMessage bounds a message: the longest job has two subjects of 700 bytes each, and
	// a trace of 3 KiB when each byte of it is escaped.
	maxMessage = 16 << 10

	// answerTimeout bounds a call to the server whose context has no end.
	answerTimeout = 5 * time.Second
)

// Queue is a [mortise.Queue] on a JetStream stream. It is safe for concurrent use. It has
// nothing to close: the connection is the host's.
type Queue struct {
	js   jetstream.JetStream
	conn *nats.Conn
	opts Options

	began time.Time // New

	last atomic.Uint64             // the greatest sequence that was acknowledged
	lost atomic.Pointer[time.Time] // when it was noticed to have gone back
}

var (
	_ mortise.Queue        = (*Queue)(nil)
	_ mortise.LossReporter = (*Queue)(nil)
)

// New returns the queue of a server, or cluster, and creates its streams if they are not
// there. Any number of programs may do so at once. Options may be nil.
//
// The connection should reconnect for ever (nats.MaxReconnects(-1)): once it is closed,
// Consume returns an error.
func New(ctx context.Context, js jetstream.JetStream, opts *Options) (*Queue, error) {
	if js == nil {
		return nil, errors.New("jetstream: New needs a JetStream: see jetstream.New of nats.go")
	}
	q := &Queue{js: js, conn: js.Conn(), began: time.Now()}
	if opts != nil {
		q.opts = *opts
	}
	if err := q.opts.complete(); err != nil {
		return nil, err
	}
	if err := q.ensure(ctx); err != nil {
		return nil, err
	}
	return q, nil
}

// complete sets the defaults.
func (o *Options) complete() error {
	if o.Name == "" {
		o.Name = "MORTISE"
	}
	if o.Replicas == 0 {
		o.Replicas = 1
	}
	if o.AckWait == 0 {
		o.AckWait = 15 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	switch {
	case token(o.Name) != o.Name || len(o.Name) > maxName:
		return fmt.Errorf("jetstream: Options.Name is 1 to %d of A-Z, a-z, 0-9, '_' and '-', and not %.80q", maxName, o.Name)
	case o.AckWait < minAckWait:
		return fmt.Errorf("jetstream: Options.AckWait is at least %v, and not %v", minAckWait, o.AckWait)
	case o.Replicas < 0:
		return errors.New("jetstream: Options.Replicas is not negative")
	}
	return nil
}

// ensure creates the streams that are not there.
func (q *Queue) ensure(ctx context.Context) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	jobs := jetstream.StreamConfig{
		Name:              q.opts.Name,
		Description:       "jobs of mortise",
		Subjects:          []string{q.opts.Name + ".ready.*.*.*", q.opts.Name + ".later.*.*.*"},
		Retention:         jetstream.WorkQueuePolicy,
		MaxMsgsPerSubject: 1,
		AllowMsgSchedules: true,
		AllowRollup:       true, // the server sets it with schedules
		MaxMsgSize:        maxMessage,
		Storage:           jetstream.FileStorage,
		Replicas:          q.opts.Replicas,
	}
	letters := jetstream.StreamConfig{
		Name:              q.deadName(),
		Description:       "dead letters of mortise",
		Subjects:          []string{q.opts.Name + ".dead.*.*.*"},
		MaxMsgsPerSubject: 1,
		MaxAge:            deadAge,
		MaxBytes:          deadBytes,
		MaxMsgSize:        maxMessage,
		Storage:           jetstream.FileStorage,
		Replicas:          q.opts.Replicas,
	}
	for _, c := range []*jetstream.StreamConfig{&jobs, &letters} {
		if err := q.ensureStream(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func (q *Queue) deadName() string { return q.opts.Name + "_DEAD" }

// ensureStream creates a stream, or looks whether the one that is there will do.
func (q *Queue) ensureStream(ctx context.Context, want *jetstream.StreamConfig) error {
	// To create one that is there asks for its room once more, which the server may not have.
	stream, err := q.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = q.js.CreateStream(ctx, *want)
	}
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // somebody else was faster
		stream, err = q.js.Stream(ctx, want.Name)
	}
	if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
		return fmt.Errorf("jetstream: create the stream %s: the server has no JetStream, or not for this account: "+
			"turn it on, by -js or by a jetstream block in its configuration: %w", want.Name, err)
	}
	if err != nil {
		return fmt.Errorf("jetstream: create the stream %s: %w", want.Name, err)
	}
	got := stream.CachedInfo().Config
	if got.AllowMsgSchedules != want.AllowMsgSchedules && want.AllowMsgSchedules {
		return fmt.Errorf("jetstream: the stream %s takes no message schedules; they need nats-server 2.12 or later, "+
			"and the setting allow_msg_schedules", want.Name)
	}
	if got.Retention != want.Retention || got.MaxMsgsPerSubject != want.MaxMsgsPerSubject {
		return fmt.Errorf("jetstream: the stream %s has the retention %v and %d messages a subject, and not %v and %d; "+
			"is it another program's? take another Options.Name", want.Name,
			got.Retention, got.MaxMsgsPerSubject, want.Retention, want.MaxMsgsPerSubject)
	}
	return nil
}

// ensureConsumer creates the consumer of a kind, or takes the one that is there. It
// returns how long that one waits for a heartbeat.
func (q *Queue) ensureConsumer(ctx context.Context, kind string) (ackWait time.Duration, err error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	c, err := q.js.CreateConsumer(ctx, q.opts.Name, jetstream.ConsumerConfig{
		Durable:       kind,
		Description:   "the consumers of one kind of jobs",
		FilterSubject: q.opts.Name + "." + string(ready) + "." + kind + ".>",
		DeliverPolicy: jetstream.DeliverAllPolicy,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       q.opts.AckWait,
		MaxDeliver:    -1,
		MaxAckPending: -1, // only what is held is pending, and workers bound that
	})
	if errors.Is(err, jetstream.ErrConsumerExists) { // with another configuration
		c, err = q.js.Consumer(ctx, q.opts.Name, kind)
	}
	if err != nil {
		return 0, fmt.Errorf("jetstream: create the consumer %s of the stream %s: %w", kind, q.opts.Name, err)
	}
	return c.CachedInfo().Config.AckWait, nil
}

// bounded returns a context that ends.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ends := ctx.Deadline(); ends {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, answerTimeout)
}
