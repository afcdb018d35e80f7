package ffmpeg

import (
	"os"
	"syscall"
	"unsafe"
)

// limits are what a program may use, at most. It writes to pipes alone, and opens its
// libraries one after the other.
var limits = []struct {
	resource int
	most     uint64
}{
	{syscall.RLIMIT_FSIZE, 0},      // of a file that it writes to
	{syscall.RLIMIT_CORE, 0},       // of a core dump
	{syscall.RLIMIT_NOFILE, 64},    // open files
	{syscall.RLIMIT_DATA, 2 << 30}, // memory; twice what a usual file takes at worst
}

// limit sets the limits of a process that has just begun, and is still busy with its own
// start. Stricter limits of the system or the host stay. If the system refuses, the
// process goes on without.
func limit(p *os.Process) {
	for _, l := range limits {
		to := syscall.Rlimit{Cur: l.most, Max: l.most}
		_, _, _ = syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(p.Pid), uintptr(l.resource), uintptr(unsafe.Pointer(&to)), 0, 0, 0)
	}
}
