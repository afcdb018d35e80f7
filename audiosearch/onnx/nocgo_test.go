//go:build !cgo

package onnx

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Without cgo there is one error, which says what to do.
func TestWithoutCgo(t *testing.T) {
	_, err := New([]byte("model"), nil)
	require.ErrorIs(t, err, errNoCgo)
	_, err = Open("nocgo_test.go", nil)
	require.ErrorIs(t, err, errNoCgo)
	_, err = Find("")
	require.ErrorIs(t, err, errNoCgo)
	require.ErrorContains(t, err, "CGO_ENABLED=1")
}
