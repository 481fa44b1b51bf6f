//go:build unix && !linux

package cluster

import "syscall"

// endWithParent does nothing: a server whose parent was killed goes on.
func endWithParent(*syscall.SysProcAttr) {}
