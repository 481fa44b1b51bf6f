package cluster

import "syscall"

// endWithParent has the server crash when this process is killed.
func endWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGQUIT }
