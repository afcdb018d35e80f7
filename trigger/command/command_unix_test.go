//go:build unix

package command

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/trigger"
)

func shell(t *testing.T, script string, opts *Options, arguments ...string) trigger.Processor {
	t.Helper()
	process, err := New(append([]string{"/bin/sh", "-c", script}, arguments...), input, opts)
	require.NoError(t, err)
	return process
}

// TestProgram: it reads the event, has its own environment, and its last line is the summary.
func TestProgram(t *testing.T) {
	t.Setenv("NOT_FOR_IT", "secret")
	const script = `read -r line; echo first; echo "$line $HAS${NOT_FOR_IT-} $0"; echo; echo wrong >&2`
	process := shell(t, script, &Options{Env: []string{"HAS=it"}}, "zero")
	outcome, err := process(t.Context(), trigger.Event{Instructions: "describe"})
	require.NoError(t, err)
	assert.Equal(t, "describe it zero", outcome.Summary)
	outcome, err = shell(t, `echo "$NOT_FOR_IT"`, nil)(t.Context(), trigger.Event{})
	require.NoError(t, err)
	assert.Empty(t, outcome.Summary, "it has our environment")
}

// TestFailed: what the program wrote stands in the error, and not in the log.
func TestFailed(t *testing.T) {
	var log bytes.Buffer
	opts := &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	_, err := shell(t, "echo fine; echo why >&2; exit 3", opts)(t.Context(), trigger.Event{})
	require.EqualError(t, err, "the command failed: exit status 3: why")
	_, err = shell(t, "exit 4", opts)(t.Context(), trigger.Event{})
	require.EqualError(t, err, "the command failed: exit status 4")
	assert.Contains(t, log.String(), `status="exit status 3"`)
	assert.NotContains(t, log.String(), "why")
}

// TestKilled: when the attempt's time is over the program ends with all that it started. The
// pipe ends when the last of them has.
func TestKilled(t *testing.T) {
	const bound = time.Minute // for machines that are busy; what is not killed goes on for longer
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	cause := errors.New("its time is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := shell(t, `(echo begun; exec sleep 300) >"$0" & wait`, nil, pipe)(ctx, trigger.Event{})
		done <- err
	}()
	read, err := os.Open(pipe)
	require.NoError(t, err)
	defer read.Close()
	begun := make([]byte, len("begun\n"))
	_, err = io.ReadFull(read, begun)
	require.NoError(t, err)
	cancel(cause)
	require.NoError(t, read.SetReadDeadline(time.Now().Add(bound)))
	_, err = io.ReadAll(read)
	require.NoError(t, err, "the program, or what it started, goes on")
	select {
	case err = <-done:
	case <-time.After(bound):
		require.Fail(t, "the Processor does not return")
	}
	require.ErrorIs(t, err, cause)
	require.ErrorContains(t, err, "the command was killed (signal: killed)")
}
