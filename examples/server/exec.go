package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/seed-6363c74e/mortise/httpadapter"
	"github.com/seed-6363c74e/mortise/trigger"
)

// commandProcessor is the Processor of -trigger-exec: it runs a program for each event.
//
// The program gets the event as one line of JSON on its standard input, in the fields of
// the history. Status 0 completes the event, and the last line of standard output that is
// not blank becomes the outcome's summary, of which the last 1000 bytes are kept.
// Anything else is an attempt that failed, and the end of standard error stands in the
// event's last_error.
//
// The program runs in a process group of its own. When the attempt's time is over the
// whole group is killed. What it leaves running after its own end is left alone, but
// nobody reads its output any more.
type commandProcessor struct {
	argv []string
	env  []string
	log  *slog.Logger
}

const (
	maxOutput = 1000                   // bytes of output that are kept
	pipeWait  = 500 * time.Millisecond // for output of a program that has ended, in case its children hold the pipes open
)

// process is the [trigger.Processor].
func (p *commandProcessor) process(ctx context.Context, e trigger.Event) (trigger.Outcome, error) {
	line, err := httpadapter.NewTriggerEvent(e).JSON()
	if err != nil {
		return trigger.Outcome{}, trigger.Permanent(fmt.Errorf("encode the event: %w", err))
	}
	var stdout, stderr tail
	cmd := exec.CommandContext(ctx, p.argv[0], p.argv[1:]...)
	cmd.Env = p.env
	cmd.Stdin = bytes.NewReader(append(line, '\n'))
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
	status := commandStatus(cmd, err)
	p.log.WarnContext(ctx, "trigger command failed", "event", e.ID, "organization", e.Organization, "attempt", e.Attempts, "status", status)
	if ctx.Err() != nil {
		return trigger.Outcome{}, fmt.Errorf("the command was killed (%s): %w", status, context.Cause(ctx))
	}
	if text := stderr.text(); text != "" {
		return trigger.Outcome{}, fmt.Errorf("the command failed: %s: %s", status, text)
	}
	return trigger.Outcome{}, fmt.Errorf("the command failed: %s", status)
}

// commandStatus says how a command ended, without anything that it wrote.
func commandStatus(cmd *exec.Cmd, err error) string {
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
