package postgres

import (
	"net"
	"syscall"
	"testing"
	"time"
)

// TRAPS, Databases: without it a cut connection is waited on for a quarter of an
// hour.
//
//evidence:abandoned
func TestTCPUserTimeout(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	conn, err := (dialer{newDialer(7 * time.Second), new(made)}).DialTimeout("tcp", l.Addr().String(), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	raw, err := conn.(*link).Conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for option, want := range map[[2]int]int{
		{syscall.IPPROTO_TCP, tcpUserTimeout}:        7000,
		{syscall.SOL_SOCKET, syscall.SO_KEEPALIVE}:   1,
		{syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE}:  4,
		{syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL}: 2,
	} {
		err := raw.Control(func(fd uintptr) {
			if got, err := syscall.GetsockoptInt(int(fd), option[0], option[1]); err != nil || got != want {
				t.Errorf("option %v is %d, %v; want %d", option, got, err, want)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
