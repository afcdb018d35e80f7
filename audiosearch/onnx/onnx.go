package onnx

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/seed-6363c74e/mortise/audiosearch/inference"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// Options are the settings of a Scorer. Nil and the zero value mean the defaults.
type Options struct {
	// Library is the file of ONNX Runtime's shared library. "": that of the environment
	// variable MORTISE_ONNXRUNTIME, or the first one that is found, see the package's
	// documentation. The library that a process has loaded cannot be changed.
	Library string

	// Description is the JSON of an [inference.Description]. Nil: what the metadata of the
	// model has, or what its inputs and outputs say.
	Description []byte

	// Threads is how many threads one run has, and Parallel is how many runs there are at a
	// time; others wait. Where both are 0, they share the processors that the process may use,
	// runtime.GOMAXPROCS(0): a model of more than 32 MiB runs once at a time on all of them,
	// and a smaller one, which cannot keep several busy, once on each. Where one of them is 0,
	// it has the remaining processors, 1 at least.
	Threads, Parallel int

	// Hop is as in [inference.Options].
	Hop time.Duration

	// Batch is as in [inference.Options], but that 0 is 1 for a model that takes any number
	// of clips: larger batches take more memory and hardly less time.
	Batch int

	firstRun time.Duration // 0: the constant; tests have less
}

// The bounds of the options.
const (
	maxThreads  = 1024
	maxParallel = 256
)

// MaxModel bounds an ONNX file, in bytes: no Protocol Buffers message is larger.
const MaxModel = 1<<31 - 1

// usualBatch is how many clips one run has, of a model that takes any number.
const usualBatch = 1

// firstRun bounds how long a model may take for its first run.
const firstRun = 5 * time.Minute

// Scorer scores clips with an ONNX model. It implements [sound.Scorer] and is safe for
// concurrent use.
type Scorer struct {
	scorer *inference.Scorer
	runner *runner
}

var _ sound.Scorer = (*Scorer)(nil)

// Open reads a model from a file, and its description from a file of the same name with
// ".json" after it, where there is one and the options have none. Else it is as [New].
func Open(path string, opts *Options) (*Scorer, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	model, err := readFile(path, MaxModel)
	if err != nil {
		return nil, fmt.Errorf("onnx: read the model: %w", err)
	}
	if o.Description == nil {
		described, err := readFile(path+".json", maxDescription)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("onnx: read the description of the model: %w", err)
		}
		o.Description = described
	}
	return New(model, &o)
}

// maxDescription bounds what is read of a description. Package inference has a lower bound.
const maxDescription = 8 << 20

// readFile reads a file of at most so many bytes.
func readFile(path string, most int64) ([]byte, error) {
	// Without O_NONBLOCK a named pipe would wait for a writer.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file", path)
	case info.Size() > most:
		return nil, fmt.Errorf("%s has %d bytes; at most %d are read", path, info.Size(), most)
	}
	content := make([]byte, info.Size()) // not ReadAll, which doubles its buffer
	n, err := io.ReadFull(f, content)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	return content[:n:n], nil
}

// New makes a scorer of a model, the content of an ONNX file. The ID of its
// [sound.Model] has "sha256:" and the digest of these bytes. They are not needed, and
// may be changed, after the call.
//
// The model runs once, on silence. One that fails in that is refused, and so is one that is
// not recognized ([inference.ErrUnrecognized]). Close the scorer when it is not used any
// more.
func New(model []byte, opts *Options) (*Scorer, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	switch {
	case o.Threads < 0 || o.Threads > maxThreads:
		return nil, fmt.Errorf("onnx: Options.Threads is %d: it must be 1 to %d, or 0 for what the process may use", o.Threads, maxThreads)
	case o.Parallel < 0 || o.Parallel > maxParallel:
		return nil, fmt.Errorf("onnx: Options.Parallel is %d: it must be 1 to %d, or 0 for what the process may use", o.Parallel, maxParallel)
	}
	if _, err := Find(o.Library); err != nil {
		return nil, err
	}
	signature, err := readSignature(model)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	var described *inference.Description
	if o.Description != nil {
		if described, err = inference.ParseDescription(o.Description); err != nil {
			return nil, fmt.Errorf("onnx: %w", err)
		}
	}
	if signature.incomplete {
		if err := complete(signature, model); err != nil {
			return nil, fmt.Errorf("onnx: %w", err)
		}
	}
	network, err := inference.Recognize(signature.Signature, described)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	if o.Batch == 0 && network.Fixed() == 0 {
		o.Batch = usualBatch
	}
	threads, parallel := o.processors(len(model))
	session, err := newSession(model, network, threads)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	r := newRunner(network, session, parallel)
	weights := fmt.Sprintf("sha256:%x", sha256.Sum256(model))
	scorer, err := inference.New(network, weights, r, &inference.Options{Hop: o.Hop, Batch: o.Batch})
	if err == nil {
		err = warmUp(scorer, network, cmp.Or(o.firstRun, firstRun))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("onnx: %w", err), r.close())
	}
	return &Scorer{scorer, r}, nil
}

// smallModel is how many bytes a model has at most that runs on one processor.
const smallModel = 32 << 20

// processors returns Threads and Parallel for a model of so many bytes. ONNX Runtime's own
// default would be wrong: it takes all processors of the machine, and ties threads to
// processors that the process may not use.
func (o *Options) processors(model int) (threads, parallel int) {
	all := runtime.GOMAXPROCS(0) // affinity and the quota of the control group count
	threads, parallel = o.Threads, o.Parallel
	switch {
	case threads == 0 && parallel == 0 && model <= smallModel:
		threads, parallel = 1, all
	case threads == 0:
		parallel = max(parallel, 1)
		threads = max(all/parallel, 1)
	case parallel == 0:
		parallel = max(all/threads, 1)
	}
	return min(threads, maxThreads), min(parallel, maxParallel)
}

// warmUp has a model run once: on two clips, if it takes any number, since there are exports
// that say so and then take only one.
func warmUp(s *inference.Scorer, n *inference.Network, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	m, err := s.Model(ctx)
	if err != nil {
		return err
	}
	silence := make([]float32, 1)
	clips := [][]float32{silence}
	if n.Fixed() == 0 && m.Batch > 1 {
		clips = append(clips, silence)
	}
	_, err = s.Score(ctx, clips)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("the model did not answer within %v in its first run: it is too slow for this machine, or never ends", limit)
	case err != nil:
		return fmt.Errorf("the model fails in its first run, on silence: %w", err)
	}
	return nil
}

// Model describes the model. It never changes, and never fails.
func (s *Scorer) Model(ctx context.Context) (sound.Model, error) { return s.scorer.Model(ctx) }

// Score scores clips, see [inference.Scorer.Score]. When ctx ends, a run that is under way
// ends within the step that it is in. The error of a model that gives another shape than it
// says is [sound.Permanent].
func (s *Scorer) Score(ctx context.Context, clips [][]float32) ([]sound.Scores, error) {
	return s.scorer.Score(ctx, clips)
}

// Close waits until what runs has ended, and frees the model. What is scored afterwards, or
// waits, is an error. To close a closed one does nothing.
func (s *Scorer) Close() error { return s.runner.close() }
