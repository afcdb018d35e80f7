//go:build cgo

package onnx

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/seed-6363c74e/mortise/audiosearch/inference"
	"github.com/seed-6363c74e/mortise/audiosearch/sound"
)

// session is a model that is ready to run. Its run method is safe for concurrent use.
type session struct {
	session *ort.DynamicAdvancedSession
}

// newSession makes a session. The library has been loaded.
func newSession(model []byte, n *inference.Network, threads int) (*session, error) {
	opts, err := sessionOptions(threads)
	if err != nil {
		return nil, err
	}
	defer opts.Destroy()
	s, err := ort.NewDynamicAdvancedSessionWithONNXData(model, []string{n.Input().Name}, []string{n.Output().Name}, opts)
	if err != nil {
		return nil, fmt.Errorf("ONNX Runtime refuses the model: %w", tidy(err))
	}
	return &session{s}, nil
}

// sessionOptions are those of every model.
func sessionOptions(threads int) (*ort.SessionOptions, error) {
	opts, err := ort.NewSessionOptions()
	if err != nil {
		return nil, fmt.Errorf("ONNX Runtime: %w", tidy(err))
	}
	err = errors.Join(
		// ONNX Runtime would write to the standard error; all is in errors.
		opts.SetLogSeverityLevel(ort.LoggingLevelFatal),
		opts.SetIntraOpNumThreads(threads),
		opts.SetInterOpNumThreads(1),
		// Threads that wait would take processors from what decodes the next clips.
		opts.AddSessionConfigEntry("session.intra_op.allow_spinning", "0"),
	)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("ONNX Runtime: %w", tidy(err)), opts.Destroy())
	}
	return opts, nil
}

// run runs the model once.
func (s *session) run(ctx context.Context, inputShape []int64, input []float32, outputShape []int64, output []float32) error {
	// C has pointers to both until the tensors are destroyed, which is longer than one call.
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&input[0])
	pin.Pin(&output[0])
	in, err := ort.NewTensor(inputShape, input)
	if err != nil {
		return fmt.Errorf("onnx: %w", tidy(err))
	}
	defer in.Destroy()
	out, err := ort.NewTensor(outputShape, output)
	if err != nil {
		return fmt.Errorf("onnx: %w", tidy(err))
	}
	defer out.Destroy()
	opts, err := ort.NewRunOptions()
	if err != nil {
		return fmt.Errorf("onnx: %w", tidy(err))
	}
	defer opts.Destroy()
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		_ = opts.Terminate()
	})
	err = s.session.RunWithOptions([]ort.Value{in}, []ort.Value{out}, opts)
	if !stop() {
		<-ended // before opts are destroyed
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return runError(err, outputShape)
}

// otherShape is what ONNX Runtime says of an output that does not fit the memory for it: up
// to 1.29 and from 1.30 on (execution_frame.cc, op_kernel.cc).
var otherShape = regexp.MustCompile(`shape verification failed.*Requested shape: ?(\{[-0-9,]*\})|` +
	`has shape \{[-0-9,]*\} but the computed output shape for this run is (\{[-0-9,]*\})`)

// runError says what a failed run means.
func runError(err error, wanted []int64) error {
	if found := otherShape.FindStringSubmatch(err.Error()); found != nil {
		return sound.Permanent(fmt.Errorf("onnx: the model gave the shape %s; by its inputs and outputs it gives %v",
			found[1]+found[2], wanted))
	}
	return fmt.Errorf("onnx: the model failed: %w", tidy(err))
}

func (s *session) destroy() error { return s.session.Destroy() }

// complete asks ONNX Runtime for the shapes that a model does not say itself. It loads the
// model once more for that.
func complete(s *signature, model []byte) error {
	inputs, outputs, err := ort.GetInputOutputInfoWithONNXData(model)
	if err != nil {
		return fmt.Errorf("ONNX Runtime refuses the model: %w", tidy(err))
	}
	for _, found := range [][]ort.InputOutputInfo{inputs, outputs} {
		for _, f := range found {
			if t := s.unshaped[f.Name]; t != nil && f.OrtValueType == ort.ONNXTypeTensor {
				t.Shape = f.Dimensions
			}
		}
	}
	return nil
}
