package ffmpeg

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup puts a process into a group of its own, and has it killed when this process
// dies.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// changedAt returns when a file was changed in any way, which a program cannot set.
func changedAt(file os.FileInfo) syscall.Timespec {
	if stat, ok := file.Sys().(*syscall.Stat_t); ok {
		return stat.Ctim
	}
	return syscall.Timespec{}
}

// handOver gives the opened file to the process, as its descriptor 3.
func handOver(cmd *exec.Cmd, file *os.File) { cmd.ExtraFiles = []*os.File{file} }

// inputURL is what the process calls the file.
func inputURL(*os.File) (string, error) { return "file:/proc/self/fd/3", nil }
