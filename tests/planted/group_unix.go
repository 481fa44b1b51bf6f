//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// own gives cmd a process group, so that the end of its context ends what it started.
func own(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
