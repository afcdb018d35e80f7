//go:build !linux

package ffmpeg

import "os"

// limit does nothing: here a process can set limits for itself alone.
func limit(*os.Process) {}
