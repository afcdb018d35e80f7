//go:build unix && !linux

package command

import "syscall"

// dieWithParent has no counterpart here: a command outlives this program if that is killed.
func dieWithParent(*syscall.SysProcAttr) {}
