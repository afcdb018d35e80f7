//go:build unix

package ffmpeg

import (
	"os"
	"syscall"
)

// killGroup kills a process that is still there, and all that it started.
func killGroup(p *os.Process) error {
	if err := syscall.Kill(-p.Pid, syscall.SIGKILL); err != nil {
		return p.Kill()
	}
	return nil
}

// killedByOthers reports whether a process was ended from outside, as by the operating
// system when it runs out of memory.
func killedByOthers(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && (status.Signal() == syscall.SIGKILL || status.Signal() == syscall.SIGTERM)
}
