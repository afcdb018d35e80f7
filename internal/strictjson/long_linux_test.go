//go:build linux && (amd64 || arm64)

package strictjson

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// The mapping is never touched, so it takes no memory.
func TestTooLong(t *testing.T) {
	data, err := syscall.Mmap(-1, 0, 1<<31, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
	if err != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "no address space: %v", err)
		t.Skip("no address space: ", err)
	}
	defer func() { _ = syscall.Munmap(data) }()
	_, err = Parse(data, 0)
	require.Equal(t, &Error{Offset: maxLength, Reason: reasonLong}, err)
}
