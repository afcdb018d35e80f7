package oip

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-6363c74e/mortise/audiosearch/inference"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// Options are the settings of a [Scorer]. Nil and the zero value mean the defaults.
type Options struct {
	// Client sends the requests. If it is nil, one is made that keeps connections, uses
	// the proxies of the environment, and follows up to three redirects on the same host.
	// A CheckRedirect that is nil is replaced by that rule.
	Client *http.Client

	// Header is sent with every request: credentials for the server, or Host for a
	// gateway. Its values are in no log, no error and no ID.
	Header http.Header

	// Description says how the model is used, as JSON of the form of
	// [inference.Description]. Nil: it is recognized by its inputs and outputs.
	Description []byte

	// Weights stands in the model's ID in place of its name and version. It is for
	// servers that change weights and not the version: whoever changes them changes it
	// too. At most 120 bytes.
	Weights string

	Hop time.Duration // as [inference.Options].Hop

	// Batch is how many clips one request has at most: 1 to 1024; 0: 8. A model that
	// takes fewer gets fewer, if its shape or Triton's configuration says so.
	Batch int

	// Timeout bounds one request with its answer. 0: 1 min. Questions for metadata have
	// 10 s at most.
	Timeout time.Duration

	// Retries is how often a request is sent again at once, after pauses of 0.1 s and
	// more. 0: 2; less: never; at most 10. A server that asks for more than 5 s is not
	// asked again.
	Retries int

	Encoding Encoding // of tensors
}

// Encoding is how tensors are written in requests. Answers are read either way.
type Encoding int

// The encodings. Binary is a quarter of JSON's length, and costs no formatting.
const (
	EncodingAuto   Encoding = iota // binary if the metadata list "binary_tensor_data", else JSON
	EncodingJSON                   // numbers as text, which every server reads
	EncodingBinary                 // Triton's binary tensor data extension
)

const (
	defaultTimeout = time.Minute
	maxTimeout     = time.Hour
	askTimeout     = 10 * time.Second
	defaultRetries = 2
	maxRetries     = 10
	maxWeights     = 120
	maxBatch       = 1024
	usualBatch     = 8
	parallel       = 8 // requests of one call of Score
)

// Scorer scores clips on an inference server. It implements [sound.Scorer] and is
// safe for concurrent use. It has no goroutine of its own; connections that wait are the
// client's.
type Scorer struct {
	address     address
	client      *http.Client
	header      http.Header
	host        string // of Header
	secrets     []string
	description *inference.Description
	opts        Options

	mu     sync.Mutex
	known  *served // what the server said last
	asking *flight // nil: nobody asks
	told   string  // the ID that Model gave last; "": none
}

var _ sound.Scorer = (*Scorer)(nil)

// New makes a scorer of a model by its address, such as http://HOST:8000/v2/models/ast,
// or http://HOST:8000/v2/models/ast/versions/2. It does not call the server, which may
// come up later. Errors say what is wrong with the arguments.
func New(modelURL string, opts *Options) (*Scorer, error) {
	a, err := parseAddress(modelURL)
	if err != nil {
		return nil, err
	}
	s := &Scorer{address: a}
	if opts != nil {
		s.opts = *opts
	}
	o := &s.opts
	switch {
	case o.Batch < 0 || o.Batch > maxBatch:
		return nil, fmt.Errorf("oip: Options.Batch is %d: it must be 1 to %d, or 0 for %d", o.Batch, maxBatch, usualBatch)
	case o.Hop < 0:
		return nil, fmt.Errorf("oip: Options.Hop is %v: it must be over 0, or 0 for that of the model", o.Hop)
	case o.Timeout < 0 || o.Timeout > maxTimeout:
		return nil, fmt.Errorf("oip: Options.Timeout is %v: it must be at most %v, or 0 for %v",
			o.Timeout, maxTimeout, defaultTimeout)
	case o.Encoding < EncodingAuto || o.Encoding > EncodingBinary:
		return nil, errors.New("oip: Options.Encoding is none of the three that there are")
	case len(o.Weights) > maxWeights || o.Weights != "" && !sound.Class(o.Weights).Valid():
		return nil, fmt.Errorf("oip: Options.Weights must be at most %d bytes of UTF-8", maxWeights)
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.Retries == 0 {
		o.Retries = defaultRetries
	}
	o.Retries = min(max(o.Retries, 0), maxRetries)
	if len(o.Description) > 0 {
		if s.description, err = inference.ParseDescription(o.Description); err != nil {
			return nil, fmt.Errorf("oip: Options.Description: %w", err)
		}
	}
	if err := s.takeHeader(o.Header); err != nil {
		return nil, err
	}
	s.client = newClient(o.Client)
	return s, nil
}

// Model asks the server what the model is. The answer is kept for 10 s. A new version on
// the server has another ID.
func (s *Scorer) Model(ctx context.Context) (sound.Model, error) {
	m, err := s.ask(ctx)
	if err != nil {
		return sound.Model{}, err
	}
	model, err := m.scorer.Model(ctx)
	if err == nil {
		s.mu.Lock()
		s.told = model.ID
		s.mu.Unlock()
	}
	return model, err
}

// Score has the server score clips, with up to 8 requests at a time. See the package for
// what its errors are. If another model is there than the one of which Model spoke last,
// that is an error: its scores would be taken for those of that one.
func (s *Scorer) Score(ctx context.Context, clips [][]float32) ([]sound.Scores, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m, err := s.last(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.isTold(m); err != nil {
		return nil, err
	}
	if len(clips) <= m.batch {
		return m.scorer.Score(ctx, clips)
	}
	scores := make([]sound.Scores, len(clips))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for first := 0; first < len(clips) && groupCtx.Err() == nil; first += m.batch {
		end := min(first+m.batch, len(clips))
		group.Go(func() error {
			rows, err := m.scorer.Score(groupCtx, clips[first:end])
			copy(scores[first:end], rows)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil { // or some were never begun
		return nil, err
	}
	return scores, nil
}

// isTold returns an error if Model spoke of another model last.
func (s *Scorer) isTold(m *served) error {
	s.mu.Lock()
	told := s.told
	s.mu.Unlock()
	if told == "" || told == m.id {
		return nil
	}
	return fmt.Errorf("oip: the inference server's model changed from %s to %s: try again", told, m.id)
}

// Ready returns nil if the server says that the model is ready. It asks each time, and
// once.
func (s *Scorer) Ready(ctx context.Context) error {
	if f := s.ready(ctx); f != nil {
		return s.public(ctx, f)
	}
	return nil
}
