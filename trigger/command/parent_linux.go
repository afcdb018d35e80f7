package command

import "syscall"

// dieWithParent makes the kernel kill the command if this program is killed itself.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
