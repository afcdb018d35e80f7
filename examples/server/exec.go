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

	"mvdan.cc/sh/v3/syntax"

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

// errNotWords is what a command is answered that needs a shell.
var errNotWords = errors.New("runs without a shell, so it takes words and quotes only; for pipes, redirections, variables or several commands run it through sh -c '...'")

// splitCommand splits a command into words as a POSIX shell would, and expands nothing:
// *, ? and ~ stay as they are.
func splitCommand(command string) ([]string, error) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(command), "")
	if err != nil {
		var parse syntax.ParseError
		if errors.As(err, &parse) {
			return nil, fmt.Errorf("cannot be split into words: %s", parse.Text)
		}
		return nil, fmt.Errorf("cannot be split into words: %w", err)
	}
	if len(file.Stmts) == 0 {
		return nil, errors.New("names no program")
	}
	first := file.Stmts[0]
	call, ok := first.Cmd.(*syntax.CallExpr)
	if !ok || len(file.Stmts) > 1 || first.Negated || first.Background || first.Semicolon.IsValid() ||
		len(first.Redirs) > 0 || len(call.Assigns) > 0 {
		return nil, errNotWords
	}
	words := make([]string, 0, len(call.Args))
	for _, arg := range call.Args {
		word, err := literal(arg)
		if err != nil {
			return nil, err
		}
		words = append(words, word)
	}
	if words[0] == "" {
		return nil, errors.New("names no program")
	}
	return words, nil
}

// literal returns a word without its quotes.
func literal(word *syntax.Word) (string, error) {
	var b strings.Builder
	for _, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			unescape(&b, part.Value, "")
		case *syntax.SglQuoted:
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			for _, inner := range part.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok {
					return "", errNotWords
				}
				unescape(&b, lit.Value, "$`\"\\")
			}
		default:
			return "", errNotWords
		}
	}
	return b.String(), nil
}

// unescape removes the backslashes that quote a character: any if only is empty, else
// those of only (POSIX.1-2024, 2.2.1 and 2.2.3).
func unescape(b *strings.Builder, text, only string) {
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && (only == "" || strings.IndexByte(only, text[i+1]) >= 0) {
			i++
		}
		b.WriteByte(text[i])
	}
}

// findProgram looks a program up as the shell would, so that a missing one is known at
// the start.
func findProgram(name string) (string, error) { return exec.LookPath(name) }

// withoutOwn returns the environment without this program's own variables, which hold
// addresses and paths of secrets.
func withoutOwn(env []string) []string {
	kept := make([]string, 0, len(env))
	for _, entry := range env {
		if !strings.HasPrefix(strings.ToUpper(entry), "MORTISE_") {
			kept = append(kept, entry)
		}
	}
	return kept
}
