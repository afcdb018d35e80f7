//go:build !cgo

package onnx

import (
	"context"
	"errors"

	"github.com/seed-6363c74e/mortise/audiosearch/inference"
)

// errNoCgo is the error of a program that cannot load a library.
var errNoCgo = errors.New("onnx: this program was built without cgo, so it cannot load ONNX Runtime: " +
	"install a C compiler (gcc, or Xcode's command line tools), and build it again with CGO_ENABLED=1")

// Find is an error without cgo.
func Find(string) (Library, error) { return Library{}, errNoCgo }

type session struct{}

func newSession([]byte, *inference.Network, int) (*session, error) { return nil, errNoCgo }

func (*session) run(context.Context, []int64, []float32, []int64, []float32) error { return errNoCgo }

func (*session) destroy() error { return nil }

func complete(*signature, []byte) error { return errNoCgo }
