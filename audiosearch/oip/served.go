package oip

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/inference"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
	"github.com/seed-6363c74e/mortise/internal/strictjson"
)

const (
	keptFor     = 10 * time.Second // what the server said of the model
	maxMetadata = 1 << 20          // bytes of each of its answers
	maxTensors  = 256              // inputs, or outputs
	maxNames    = 4096             // versions, or extensions
)

// served is the model as the server described it.
type served struct {
	metadata
	until  time.Time // when the server is asked again
	binary bool
	most   int // clips of a request, as the server's configuration says; 0: it does not
	batch  int // clips of a request

	network *inference.Network
	scorer  *inference.Scorer
	id      string // of its sound.Model
}

// metadata is what a server says of a model.
type metadata struct {
	name, version   string
	inputs, outputs []inference.Tensor
	versions        []string
}

// flight is a question for the model that is under way.
type flight struct {
	done  chan struct{}
	model *served
	err   error
	ended bool // the context of the one who asked ended: others ask again
}

// last returns the model as the server described it last, however long ago: an answer to
// an inference tells if it is another one.
func (s *Scorer) last(ctx context.Context) (*served, error) {
	s.mu.Lock()
	known := s.known
	s.mu.Unlock()
	if known != nil {
		return known, nil
	}
	return s.ask(ctx)
}

// ask returns the model as the server describes it now. Several who ask at once share one
// answer.
func (s *Scorer) ask(ctx context.Context) (*served, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s.mu.Lock()
		if s.known != nil && time.Now().Before(s.known.until) {
			defer s.mu.Unlock()
			return s.known, nil
		}
		f, mine := s.asking, s.asking == nil
		if mine {
			f = &flight{done: make(chan struct{})}
			s.asking = f
		}
		known := s.known
		s.mu.Unlock()
		if mine {
			s.fly(ctx, f, known)
			return f.model, f.err
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if !f.ended {
			return f.model, f.err
		}
	}
}

// fly asks the server for the model.
func (s *Scorer) fly(ctx context.Context, f *flight, known *served) {
	f.err, f.ended = errors.New("oip: the question for the model panicked"), true
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.asking = nil; f.err == nil {
			s.known = f.model
		}
		close(f.done)
	}()
	model, failed := s.describe(ctx, known)
	f.model, f.err = model, nil
	if failed != nil {
		f.model, f.err = nil, s.public(ctx, failed)
	}
	f.ended = ctx.Err() != nil
}

// forget has the next one ask the server again.
func (s *Scorer) forget(model *served) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known != nil && s.known.scorer == model.scorer {
		s.known = nil
	}
}

// describe asks the server for the model, and makes a scorer of it unless it is the known
// one.
func (s *Scorer) describe(ctx context.Context, known *served) (*served, *failure) {
	version := s.address.version
	m, f := s.metadata(ctx, version)
	if f != nil {
		return nil, f
	}
	if version == "" && len(m.versions) > 0 {
		listed := m.versions
		version = newest(listed)
		if len(listed) > 1 { // these metadata may be those of another one
			if m, f = s.metadata(ctx, version); f != nil {
				return nil, f
			}
		}
	}
	m.version, m.versions = version, nil
	now := served{metadata: m}
	if f := s.askServer(ctx, &now); f != nil {
		return nil, f
	}
	now.until = time.Now().Add(keptFor)
	if known != nil && now.same(known) {
		now.network, now.scorer, now.batch, now.id = known.network, known.scorer, known.batch, known.id
		return &now, nil
	}
	return &now, s.use(&now)
}

// same reports whether a server said the same twice.
func (m *served) same(o *served) bool {
	equal := func(a, b inference.Tensor) bool {
		return a.Name == b.Name && a.Type == b.Type && slices.Equal(a.Shape, b.Shape)
	}
	return m.name == o.name && m.version == o.version && m.binary == o.binary && m.most == o.most &&
		slices.EqualFunc(m.inputs, o.inputs, equal) && slices.EqualFunc(m.outputs, o.outputs, equal)
}

// newest returns the greatest number of a list of versions, or the last one if not all
// are numbers.
func newest(versions []string) string {
	best, greatest := "", uint64(0)
	for _, v := range versions {
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			return versions[len(versions)-1]
		}
		if best == "" || n > greatest {
			best, greatest = v, n
		}
	}
	return best
}

// use makes a scorer of a described model.
func (s *Scorer) use(m *served) *failure {
	unusable := func(err error) *failure {
		return &failure{permanent: true, err: fmt.Errorf("oip: model %s: %w", s.name(), err)}
	}
	network, err := inference.Recognize(inference.Signature{Inputs: m.inputs, Outputs: m.outputs}, s.description)
	if err != nil {
		return unusable(err)
	}
	weights := s.opts.Weights
	if weights == "" {
		weights = url.QueryEscape(m.name) + "@" + url.QueryEscape(m.version)
		if len(weights) > maxWeights {
			return unusable(fmt.Errorf("its name and version make more than %d bytes: name it in Options.Weights", maxWeights))
		}
	}
	batch := s.opts.Batch
	if batch == 0 {
		batch = usualBatch
	}
	if m.most > 0 {
		batch = min(batch, m.most)
	}
	m.network = network
	o := &inference.Options{Hop: s.opts.Hop, Batch: batch}
	m.scorer, err = inference.New(network, "oip:"+weights, &runner{s, m}, o)
	if err != nil {
		return unusable(err)
	}
	model, _ := m.scorer.Model(context.Background()) // never fails
	if m.id, m.batch = model.ID, network.Fixed(); m.batch == 0 {
		m.batch = model.Batch
	}
	return nil
}

// get asks a question, and returns the answer's JSON.
func (s *Scorer) get(ctx context.Context, address string) (strictjson.Value, *failure) {
	a, f := s.send(ctx, &question{address: address, timeout: min(s.opts.Timeout, askTimeout), most: maxMetadata})
	if f != nil {
		return strictjson.Value{}, f
	}
	root, err := strictjson.Parse(a.body, maxDepth)
	if err != nil {
		return root, s.broken("%w", err)
	}
	if root.Kind() != strictjson.Object {
		return root, s.broken("it is no JSON object")
	}
	return root, nil
}

// metadata asks for the metadata of a version; "" is the server's choice.
func (s *Scorer) metadata(ctx context.Context, version string) (metadata, *failure) {
	root, f := s.get(ctx, s.address.at(version))
	if f != nil {
		return metadata{}, f
	}
	var m metadata
	var ok bool
	if m.name, ok = textOf(root, "name"); !ok || m.name == "" {
		return m, s.broken("the metadata have no name")
	}
	if m.versions, ok = textsOf(root, "versions"); !ok {
		return m, s.broken("the metadata's versions are no list of texts")
	}
	if m.inputs, ok = tensorsOf(root, "inputs"); !ok {
		return m, s.broken("the metadata have no inputs of the documented form")
	}
	if m.outputs, ok = tensorsOf(root, "outputs"); !ok {
		return m, s.broken("the metadata have no outputs of the documented form")
	}
	return m, nil
}

// textsOf reads a list of texts that may be missing.
func textsOf(v strictjson.Value, key string) (texts []string, ok bool) {
	list, _ := v.Get(key)
	if kind := list.Kind(); kind == strictjson.Invalid || kind == strictjson.Null {
		return nil, true
	} else if kind != strictjson.Array {
		return nil, false
	}
	for i, element := range list.Elements() {
		text := element.Text()
		if text == "" || i == maxNames {
			return nil, false
		}
		texts = append(texts, text)
	}
	return texts, true
}

// tensorsOf reads a list of tensors.
func tensorsOf(v strictjson.Value, key string) (tensors []inference.Tensor, ok bool) {
	list, _ := v.Get(key)
	if list.Kind() != strictjson.Array {
		return nil, false
	}
	for i, element := range list.Elements() {
		var t inference.Tensor
		var named, typed, shaped bool
		t.Name, named = textOf(element, "name")
		t.Type, typed = textOf(element, "datatype")
		shape, _ := element.Get("shape")
		t.Shape, shaped = shapeOf(shape)
		if !named || !typed || !shaped || i == maxTensors {
			return nil, false
		}
		tensors = append(tensors, t)
	}
	return tensors, true
}

// askServer asks for what the server can do, as far as it matters.
func (s *Scorer) askServer(ctx context.Context, m *served) *failure {
	root, f := s.get(ctx, s.address.server)
	if f != nil && f.status >= 400 && f.status < 500 && !f.again {
		root, f = strictjson.Value{}, nil // a gateway may show the model alone
	}
	if f != nil {
		return f
	}
	extensions, ok := textsOf(root, "extensions")
	if !ok {
		return s.broken("the server's extensions are no list of texts")
	}
	m.binary = s.opts.Encoding == EncodingBinary ||
		s.opts.Encoding == EncodingAuto && slices.Contains(extensions, "binary_tensor_data")
	if !slices.Contains(extensions, "model_configuration") {
		return nil
	}
	root, f = s.get(ctx, s.address.at(m.version)+"/config")
	if f != nil && f.status >= 400 && f.status < 500 && !f.again {
		return nil
	}
	if f != nil {
		return f
	}
	if most, ok := root.Get("max_batch_size"); ok {
		n, ok := most.Int64()
		if !ok || n < 0 || n > math.MaxInt32 {
			return s.broken("the configuration's max_batch_size is no number of clips")
		}
		m.most = int(n)
	}
	return nil
}

// ready asks whether the model is ready.
func (s *Scorer) ready(ctx context.Context) *failure {
	q := &question{
		address: s.address.at(s.address.version) + "/ready", timeout: min(s.opts.Timeout, askTimeout), most: maxMetadata,
	}
	a, f := s.sendOnce(ctx, q)
	if f != nil {
		if f.status == http.StatusBadRequest {
			f.later = true
		}
		return f
	}
	root, err := strictjson.Parse(a.body, maxDepth)
	if ready, ok := root.Get("ready"); err == nil && ok && !ready.Bool() {
		err := fmt.Errorf("oip: the inference server says that model %s is not ready", s.name())
		return &failure{later: true, err: err}
	}
	return nil
}

// runner has the server run a described model. It implements [inference.Runner].
type runner struct {
	scorer *Scorer
	model  *served
}

// Run implements [inference.Runner].
func (r *runner) Run(ctx context.Context, clips int, input, output []float32) error {
	s, m := r.scorer, r.model
	id := rand.Text()
	p, done, err := newPayload(m.network, id, clips, input, m.binary)
	if err != nil {
		return sound.Permanent(err)
	}
	defer done()
	a, f := s.send(ctx, &question{
		address: s.address.at(m.version) + "/infer", timeout: s.opts.Timeout, payload: p,
		most: answerSlack + numberBytes*int64(len(output)),
	})
	if f == nil {
		f = s.readAnswer(a, &wanted{
			id: id, name: m.name, version: m.version, output: m.network.Output().Name, shape: m.network.OutputShape(clips),
		}, output)
	}
	if f == nil {
		return nil
	}
	if f.status == http.StatusBadRequest && s.ready(ctx) != nil {
		f.permanent = false // servers say 400 of a model that is gone, too
	}
	if !f.later && ctx.Err() == nil {
		s.forget(m)
	}
	return s.public(ctx, f)
}
