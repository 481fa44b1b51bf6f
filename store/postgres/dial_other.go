//go:build !linux

package postgres

import (
	"syscall"
	"time"
)

// control does nothing: only keepalive probes notice a cut connection here.
func control(time.Duration) func(string, string, syscall.RawConn) error { return nil }
