// Package pushed is a host that is pushed its jobs over HTTP. A push service, such as Cloud
// Tasks, or SQS in front of a function, keeps the jobs, and POSTs each of them to the host
// until it is answered with 2xx.
//
// [Queue] gives the service its jobs, [NewHandler] is what it POSTs them to, and a
// trigger.Sweeper runs beside: it finds the jobs that the service has lost.
//
//	backend := db.Trigger()
//	backend.Queue = &pushed.Queue{URL: url, Secret: secret}
//	service, err := trigger.New(backend, nil)
//	worker, err := trigger.NewWorker(service, processor, nil) // never Run: Handle is called
//	handlers := map[string]mortise.Handler{trigger.JobKind: worker.Handle}
//	handler, err := pushed.NewHandler(secret, handlers)
//	sweeper, err := trigger.NewSweeper(service, nil) // go sweeper.Run(ctx)
//
// The push service must wait for an answer for longer than WorkerOptions.Timeout and Grace
// together, and so must the WriteTimeout of the http.Server. trigger.Options.LostAfter must be
// longer, too. How many jobs run at a time is said by the push service.
package pushed

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/seed-6363c74e/mortise"
)

// MaxBody is how long the body of a push may be.
const MaxBody = 64 << 10

// DeliveriesHeader says how often a job has been pushed, this time included. Cloud Tasks has
// X-CloudTasks-TaskRetryCount, which begins with 0, and SQS ApproximateReceiveCount.
const DeliveriesHeader = "X-Deliveries"

// Push is a job as it travels.
type Push struct {
	Kind         string            `json:"kind"`
	Organization []byte            `json:"organization"` // base64 in JSON, for it may be any bytes
	ID           string            `json:"id"`
	NotBefore    time.Time         `json:"not_before,omitzero"`
	Trace        map[string]string `json:"trace,omitempty"`
}

// Queue implements [mortise.Queue] by a push service.
//
// Enqueue is not idempotent at every push service, and must not be at some: a name that was
// used lately is refused by Cloud Tasks, and a job that was lost could not be added again.
// So a job may be pushed twice. That does no harm: a worker sees that there is nothing left
// to do, or that an attempt is running.
type Queue struct {
	URL    string       // where the push service takes jobs
	Secret string       // of the push service and the host
	Client *http.Client // nil: http.DefaultClient
}

var _ mortise.Queue = (*Queue)(nil)

// Enqueue implements [mortise.Queue].
func (q *Queue) Enqueue(ctx context.Context, j mortise.Job) error {
	if err := j.Check(); err != nil {
		return err
	}
	body, err := json.Marshal(Push{j.Kind, []byte(j.Organization), j.ID, j.At, j.Trace})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, q.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+q.Secret)
	r.Header.Set("Content-Type", "application/json")
	client := q.Client
	if client == nil {
		client = http.DefaultClient
	}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("pushed: the push service answered %s", answer.Status)
	}
	return nil
}

// Cancel implements [mortise.Queue]: a job that was given away cannot be taken back.
func (q *Queue) Cancel(context.Context, mortise.Job) error { return errors.ErrUnsupported }

// Consume implements [mortise.Queue]. It always fails: do not run a worker over this queue.
func (q *Queue) Consume(context.Context, mortise.ConsumeOptions, mortise.Handler) error {
	return errors.New("pushed: jobs are pushed to the handler of NewHandler; do not call Worker.Run")
}

// NewHandler returns what the push service POSTs jobs to. handlers are by the kind of job.
// The secret has at least 16 bytes.
func NewHandler(secret string, handlers map[string]mortise.Handler) (http.Handler, error) {
	if len(secret) < 16 {
		return nil, errors.New("pushed: the secret needs at least 16 bytes")
	}
	want := sha256.Sum256([]byte("Bearer " + secret))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := sha256.Sum256([]byte(r.Header.Get("Authorization")))
		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			http.Error(w, "wrong secret", http.StatusUnauthorized)
			return
		}
		var p Push
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, MaxBody)).Decode(&p); err != nil {
			status := http.StatusBadRequest
			if errors.As(err, new(*http.MaxBytesError)) {
				status = http.StatusRequestEntityTooLarge
			}
			http.Error(w, "not a job", status)
			return
		}
		job := mortise.Job{Kind: p.Kind, Organization: string(p.Organization), ID: p.ID, Trace: p.Trace}
		deliveries, err := strconv.Atoi(r.Header.Get(DeliveriesHeader))
		handle := handlers[p.Kind]
		if err != nil || deliveries < 1 || job.Check() != nil || handle == nil {
			http.Error(w, "not a job of this host", http.StatusBadRequest)
			return
		}
		// The request's context ends when the push service waits no longer.
		switch v := handle(r.Context(), mortise.Delivery{Job: job, Deliveries: deliveries}); v.Kind {
		case mortise.VerdictDone, mortise.VerdictDead, mortise.VerdictEnded:
			w.WriteHeader(http.StatusNoContent)
		default:
			after := (max(v.After, 0) + time.Second - 1) / time.Second
			w.Header().Set("Retry-After", strconv.Itoa(int(after)))
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}), nil
}
