//go:build !unix

package command

import "os/exec"

// ownGroup has no counterpart here: only the command itself is killed, not what it has started.
func ownGroup(*exec.Cmd) {}
