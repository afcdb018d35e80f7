//go:build !unix

package ffmpeg

import (
	"os"
	"syscall"
)

// ownGroup does nothing: there are no process groups here.
func ownGroup() *syscall.SysProcAttr { return nil }

// killGroup kills a process.
func killGroup(p *os.Process) error { return p.Kill() }

// killedByOthers cannot be told here.
func killedByOthers(*os.ProcessState) bool { return false }
