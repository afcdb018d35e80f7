package columnar

import (
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// processorTime returns how long the thread that calls has had a processor, as long as it
// is locked to its goroutine: what else the machine does counts little then.
func processorTime() time.Duration {
	const ofThread = 3 // CLOCK_THREAD_CPUTIME_ID; Getrusage counts in ticks
	var t syscall.Timespec
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, ofThread, uintptr(unsafe.Pointer(&t)), 0)
	return time.Duration(t.Nano())
}

// lockThread makes processorTime mean something until the function that it returns.
func lockThread() func() {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}
