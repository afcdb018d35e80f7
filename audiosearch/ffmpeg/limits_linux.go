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
	{syscall.RLIMIT_FSIZE, 0},      // no file grows
	{syscall.RLIMIT_CORE, 0},       // nor does one come of its end
	{syscall.RLIMIT_NOFILE, 64},    // nor can it open many
	{syscall.RLIMIT_DATA, 2 << 30}, // memory that it writes to; twice what a usual file takes at worst
}

// limit sets the limits of a process that has just begun. It runs until then, but it is
// busy with its own start. Where the system or the host is stricter, that stays; and a
// system that does not let us goes on without.
func limit(p *os.Process) {
	for _, l := range limits {
		to := syscall.Rlimit{Cur: l.most, Max: l.most}
		_, _, _ = syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(p.Pid), uintptr(l.resource), uintptr(unsafe.Pointer(&to)), 0, 0, 0)
	}
}
