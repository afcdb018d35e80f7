// Package command does the work of trigger events by a program: it has a
// [trigger.Processor] that runs one for each event.
//
//	processor, err := command.New([]string{"/usr/local/bin/document", "--quiet"}, encode, nil)
//
// Status 0 completes the event, and the last line of standard output that is not blank
// becomes the outcome's summary, of which the last 1000 bytes are kept. Anything else is an
// attempt that failed, and the end of standard error stands in the event's last error.
//
// On Unix the program runs in a process group of its own, out of reach of the terminal's
// Ctrl-C. When the attempt's time is over the whole group is killed; elsewhere it is the
// program alone. What it leaves running after its own end is left alone, but nobody reads
// its output any more. On Linux it is killed, too, if this process is.
package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise/trigger"
)

// Options are the settings of New. The zero value means the defaults.
type Options struct {
	// Env is the environment of the program, as os.Environ returns one. Nil is an empty
	// one: that of this process may have secrets in it.
	Env []string

	Logger *slog.Logger // slog.Default(); is told how a program ended, not what it wrote
}

const (
	maxOutput = 1000                   // bytes of output that are kept
	pipeWait  = 500 * time.Millisecond // for output of a program that has ended, in case its children hold the pipes open
)

// New returns a Processor that runs a program, argv[0], with arguments and no shell. It
// gets what input makes of the event, and a line feed, on its standard input; an event of
// which that makes an error fails at once. For one line of JSON with the fields of the
// history over HTTP, that is
//
//	func(e trigger.Event) ([]byte, error) { return httpadapter.NewTriggerEvent(e).JSON() }
func New(argv []string, input func(trigger.Event) ([]byte, error), opts *Options) (trigger.Processor, error) {
	if len(argv) == 0 || argv[0] == "" || input == nil {
		return nil, errors.New("command: New needs a program, and what it reads")
	}
	p := &processor{argv: slices.Clone(argv), input: input, env: []string{}, log: slog.Default()}
	if opts != nil {
		p.env = append(p.env, opts.Env...)
	}
	if opts != nil && opts.Logger != nil {
		p.log = opts.Logger
	}
	return p.process, nil
}

type processor struct {
	argv  []string
	input func(trigger.Event) ([]byte, error)
	env   []string
	log   *slog.Logger
}

func (p *processor) process(ctx context.Context, e trigger.Event) (trigger.Outcome, error) {
	text, err := p.input(e)
	if err != nil {
		return trigger.Outcome{}, trigger.Permanent(fmt.Errorf("encode the event: %w", err))
	}
	var stdout, stderr tail
	cmd := exec.CommandContext(ctx, p.argv[0], p.argv[1:]...)
	cmd.Env = p.env
	cmd.Stdin = bytes.NewReader(append(slices.Clip(text), '\n'))
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = pipeWait
	ownGroup(cmd)

	// Where the child dies with its parent, the kernel means the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = cmd.Run()
	if cmd.ProcessState != nil && cmd.ProcessState.Success() {
		return trigger.Outcome{Summary: stdout.lastLine()}, nil
	}
	ended := status(cmd, err)
	level, what := slog.LevelWarn, "trigger command failed"
	if errors.Is(context.Cause(ctx), trigger.ErrCancelled) {
		level, what = slog.LevelInfo, "trigger command ended by a cancellation"
	}
	p.log.Log(ctx, level, what,
		"event", e.ID, "organization", e.Organization, "attempt", e.Attempts, "status", ended)
	if ctx.Err() != nil {
		return trigger.Outcome{}, fmt.Errorf("the command was killed (%s): %w", ended, context.Cause(ctx))
	}
	if text := stderr.text(); text != "" {
		return trigger.Outcome{}, fmt.Errorf("the command failed: %s: %s", ended, text)
	}
	return trigger.Outcome{}, fmt.Errorf("the command failed: %s", ended)
}

// status says how a command ended, without anything that it wrote.
func status(cmd *exec.Cmd, err error) string {
	if cmd.ProcessState != nil {
		return cmd.ProcessState.String()
	}
	var failure *exec.Error
	if errors.As(err, &failure) {
		err = failure.Err
	}
	return "could not be started: " + err.Error()
}

// tail keeps the end of what is written to it.
type tail struct{ kept []byte }

// Write implements [io.Writer]. It never fails.
func (t *tail) Write(b []byte) (int, error) {
	t.kept = append(t.kept, b[max(0, len(b)-2*maxOutput):]...)
	if over := len(t.kept) - 2*maxOutput; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(b), nil
}

func (t *tail) text() string { return clip(strings.TrimSpace(string(t.kept))) }

func (t *tail) lastLine() string {
	text := strings.TrimSpace(string(t.kept))
	return clip(strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:]))
}

// clip returns the last maxOutput bytes of text, without the pieces of a character.
func clip(text string) string {
	return strings.ToValidUTF8(text[max(0, len(text)-maxOutput):], "")
}
