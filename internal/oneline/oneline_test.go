package oneline_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/internal/oneline"
)

func TestJoin(t *testing.T) {
	first, second := errors.New("name: must not be empty"), errors.New("limit: must be between 1 and 1000")
	require.Empty(t, oneline.Join(nil))
	require.Equal(t, "name: must not be empty", oneline.Join([]error{first}))
	require.Equal(t, "name: must not be empty; limit: must be between 1 and 1000", oneline.Join([]error{first, second}))
}

func TestOf(t *testing.T) {
	none := oneline.Of[error](nil)
	require.Nil(t, none)
	require.NoError(t, none.ErrorOrNil())
	require.Empty(t, none.WrappedErrors())
	first, second := &fs.PathError{Op: "open", Path: "a", Err: fs.ErrExist}, &fs.PathError{Op: "read", Path: "b", Err: fs.ErrClosed}
	both := oneline.Of([]*fs.PathError{first, second})
	require.EqualError(t, both, "open a: file already exists; read b: file already closed")
	require.Equal(t, []error{first, second}, both.WrappedErrors())
	require.ErrorIs(t, both, fs.ErrClosed)
}

func TestLogged(t *testing.T) {
	require.Equal(t, "first second", oneline.Logged("first\nsecond\n"))
	require.Len(t, oneline.Logged(strings.Repeat("x", 2000)), 1024)
}

func TestShort(t *testing.T) {
	for text, want := range map[string]string{
		"": "", " a\n\tb ": "a b", "\xff": "\uFFFD", "12345678": "12345678", "123456789": "12345678...",
		"1234567é": "1234567...", "123456é": "123456é", "p: 12345678": "12345678",
		"\n p:\n broken": "broken", "p:": "p:", "p: p: a": "p: a",
	} {
		require.Equal(t, want, oneline.Short(text, "p: ", 8), text)
	}
}
