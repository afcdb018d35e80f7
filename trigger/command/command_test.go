package command

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-6363c74e/mortise/trigger"
)

func input(e trigger.Event) ([]byte, error) { return []byte(e.Instructions), nil }

func TestMistakes(t *testing.T) {
	for _, argv := range [][]string{nil, {}, {""}} {
		_, err := New(argv, input, nil)
		require.Error(t, err, "%q", argv)
	}
	_, err := New([]string{"true"}, nil, nil)
	require.Error(t, err)
}

// TestNotStarted: an event that cannot be encoded fails at once, and a program that is not
// there may be at another attempt. The log says what happened.
func TestNotStarted(t *testing.T) {
	broken := errors.New("broken")
	process, err := New([]string{"true"}, func(trigger.Event) ([]byte, error) { return nil, broken }, nil)
	require.NoError(t, err)
	_, err = process(t.Context(), trigger.Event{})
	require.ErrorIs(t, err, broken)
	require.Equal(t, trigger.Permanent(err).Error(), err.Error())

	var log bytes.Buffer
	process, err = New([]string{"no-such-program"}, input, &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	_, err = process(t.Context(), trigger.Event{Organization: "acme", Attempts: 3})
	require.ErrorContains(t, err, "the command failed: could not be started: ")
	assert.Contains(t, log.String(), "organization=acme attempt=3")
}

func TestTail(t *testing.T) {
	var o tail
	write := func(text string) {
		n, err := o.Write([]byte(text))
		require.NoError(t, err)
		require.Equal(t, len(text), n)
	}
	write("first\n")
	for range 300 {
		write(strings.Repeat("ü", 40) + "\n")
	}
	write(strings.Repeat("é", 3000) + " \n\n")
	line := o.lastLine()
	assert.LessOrEqual(t, len(line), maxOutput)
	assert.Empty(t, strings.Trim(line, "é"))
	assert.LessOrEqual(t, len(o.kept), 2*maxOutput)
	assert.Empty(t, new(tail).lastLine())
}
