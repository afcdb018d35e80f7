package conformance

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A mutant has to fail, and may hang or panic. So mutants are tried in other processes, which
// run the same test and try one mutant after the other, until one ends the process.

// envTrials names the test that a process tries mutants of.
const envTrials = "MORTISE_TRIALS"

// endOfTrial is printed after a mutant that left the process as it was.
const endOfTrial = "=== END OF TRIAL\n"

// serveTrials calls try for each mutant that the parent of this process names, as a subtest.
// It returns false at once in a process that tries none.
func serveTrials(t *testing.T, try func(t *testing.T, mutant string)) bool {
	if os.Getenv(envTrials) != t.Name() {
		return false
	}
	for names := bufio.NewScanner(os.Stdin); names.Scan(); {
		goroutines := runtime.NumGoroutine()
		t.Run(names.Text(), func(t *testing.T) { try(t, names.Text()) })
		if !settles(goroutines) {
			os.Exit(1) // or the next mutant could meet goroutines of this one
		}
		fmt.Print("\n", endOfTrial)
	}
	return true
}

// settles reports whether there are soon no more than so many goroutines.
func settles(goroutines int) bool {
	for range 50 {
		if runtime.NumGoroutine() <= goroutines {
			return true
		}
		time.Sleep(time.Millisecond)
	}
	return false
}

// trials are the processes that try the mutants of a test.
type trials struct {
	ctx  context.Context
	test string
	env  []string
	free chan *trier // one that is nil is to be started
}

// startTrials returns so many processes for a test, which t is a part of. They end with t.
func startTrials(t *testing.T, test string, processes int, env ...string) *trials {
	tr := &trials{t.Context(), test, append(env, envTrials+"="+test), make(chan *trier, processes)}
	for range processes {
		tr.free <- nil
	}
	t.Cleanup(func() {
		for range processes {
			if p := <-tr.free; p != nil {
				_ = p.cmd.Wait() // its context has ended
			}
		}
	})
	return tr
}

// try returns the output of a mutant.
func (tr *trials) try(mutant string) (output string) {
	p := <-tr.free
	defer func() { tr.free <- p }()
	if p == nil {
		var err error
		if p, err = tr.start(); err != nil {
			return err.Error()
		}
	}
	output, ended := p.try(mutant)
	if ended {
		_ = p.cmd.Wait() // the output says how
		p = nil
	}
	return output
}

func (tr *trials) start() (*trier, error) {
	cmd := exec.CommandContext(tr.ctx, os.Args[0], "-test.v", "-test.count=1", "-test.timeout=30m",
		"-test.run=^"+tr.test+"$")
	cmd.Env = append(os.Environ(), tr.env...)
	// The race detector sleeps for a second at the end of a process unless it is told not to.
	cmd.Env = append(cmd.Env, "GORACE=atexit_sleep_ms=0", fmt.Sprint("GOMAXPROCS=", runtime.GOMAXPROCS(0))) // -test.cpu
	names, err := cmd.StdinPipe()
	output, err2 := cmd.StdoutPipe()
	cmd.Stderr = cmd.Stdout
	if err := errors.Join(err, err2, cmd.Start()); err != nil {
		return nil, err
	}
	return &trier{cmd, names, bufio.NewReader(output)}, nil
}

// trier is a process that tries mutants.
type trier struct {
	cmd    *exec.Cmd
	names  io.Writer
	output *bufio.Reader
}

// try returns the output of a mutant, and whether the process has ended.
func (p *trier) try(mutant string) (output string, ended bool) {
	_, _ = fmt.Fprintln(p.names, mutant) // the output says whether it was tried
	var all strings.Builder
	for {
		line, err := p.output.ReadString('\n')
		if line == endOfTrial {
			return all.String(), false
		}
		all.WriteString(line)
		if err != nil {
			return all.String(), true
		}
	}
}
