package ffmpeg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// process is a program at work. Its output is read from it; each wait takes from the time
// that its job has left.
type process struct {
	job    *job
	ctx    context.Context
	cancel context.CancelCauseFunc
	output *os.File
	stderr *head
	state  *os.ProcessState
	exited chan struct{} // closed when the process is gone; then state and err are set
	err    error

	unblock func() bool // no longer needed
}

var errTimeout = errors.New("it takes ffmpeg too long to read the file: convert it to WAV, or raise the time limit")

const (
	maxStderr = 4 << 10
	// waitDelay is how long a process that was killed may keep its standard error open,
	// by way of a child of its own.
	waitDelay = 5 * time.Second
)

// start runs a program with the file of the job. The caller must stop it.
func (j *job) start(path string, args ...string) (*process, error) {
	output, input, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("ffmpeg: starting a program: %w", err)
	}
	ctx, cancel := context.WithCancelCause(j.ctx)
	p := &process{job: j, ctx: ctx, cancel: cancel, output: output, stderr: &head{max: maxStderr}, exited: make(chan struct{})}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LANG=C", "LC_ALL=C"}
	cmd.Stdout, cmd.Stderr = input, p.stderr
	cmd.SysProcAttr = ownGroup()
	cmd.Cancel = func() error { return killGroup(cmd.Process) }
	cmd.WaitDelay = waitDelay
	handOver(cmd, j.file)

	started := make(chan error, 1)
	go func() {
		// Linux kills the process when the thread ends that started it, so that thread
		// has to stay until then.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.exited)
		err := cmd.Start()
		input.Close()
		if err == nil && !j.unlimited {
			limit(cmd.Process)
		}
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			p.state = cmd.ProcessState
		}
	}()
	if err := <-started; err != nil {
		cancel(nil)
		output.Close()
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOEXEC) {
			return nil, ErrNotInstalled
		}
		return nil, fmt.Errorf("ffmpeg: starting a program: %w", withoutPath(err))
	}
	// A child that got away from the group may hold the other end of the pipe. On unix
	// this ends a Read that waits for it.
	p.unblock = context.AfterFunc(ctx, func() { _ = output.SetReadDeadline(time.Now()) })
	return p, nil
}

// Read reads from the output, for no longer than the job has time.
func (p *process) Read(b []byte) (int, error) {
	if p.ctx.Err() != nil {
		return 0, p.reason()
	}
	defer p.clock()()
	n, err := p.output.Read(b)
	if err != nil && p.ctx.Err() != nil {
		err = p.reason()
	}
	return n, err
}

// reason says why the process was ended.
func (p *process) reason() error {
	if err := p.job.ctx.Err(); err != nil {
		return err
	}
	return context.Cause(p.ctx)
}

// clock starts to count the time of the job, and kills the process when it is up. The
// result stops counting.
func (p *process) clock() (stop func()) {
	begin := time.Now()
	timer := time.AfterFunc(p.job.left, func() { p.cancel(errTimeout) })
	return func() {
		timer.Stop()
		p.job.left = max(p.job.left-time.Since(begin), 0)
	}
}

// stop ends the process and returns when it is gone.
func (p *process) stop() {
	p.cancel(context.Canceled)
	<-p.exited
	p.unblock()
	p.output.Close()
}

// wait returns how the process ended by itself, after its output has ended.
func (p *process) wait() error {
	stop := p.clock()
	<-p.exited
	stop()
	switch {
	case p.ctx.Err() != nil:
		return p.reason()
	case p.err == nil || p.state.Success():
		return nil // if p.err is set, a child of it kept its standard error open
	}
	return failure(p.stderr.String(), p.state)
}

// readAll runs a program and returns its output, of max bytes at most, and the beginning
// of its standard error.
func (j *job) readAll(max int, path string, args ...string) (output []byte, stderr string, err error) {
	p, err := j.start(path, args...)
	if err != nil {
		return nil, "", err
	}
	defer p.stop()
	var b bytes.Buffer
	if _, err := b.ReadFrom(io.LimitReader(p, int64(max)+1)); err != nil {
		return nil, "", err
	}
	if b.Len() > max {
		return nil, "", errGarbage
	}
	err = p.wait()
	return b.Bytes(), p.stderr.String(), err
}

// head keeps the first bytes that are written to it.
type head struct {
	mu  sync.Mutex // a program that leaves a child behind may still write
	b   []byte
	max int
}

func (h *head) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.b = append(h.b, b[:min(len(b), h.max-len(h.b))]...)
	return len(b), nil
}

func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.b)
}
