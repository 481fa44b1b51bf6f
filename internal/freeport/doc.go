// Package freeport finds ports for servers that tests and examples stop and start again.
package freeport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"syscall"
)

// Address returns an address of this machine on which no server listens at present. Its port is below those that a system
// gives to outgoing connections (32768 to 60999 on Linux): one of these may take an address while its server is stopped.
// scripts/services chooses the ports of its servers in the same way. It may be called concurrently.
func Address() (string, error) {
	for {
		address := fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(12000))
		l, err := net.Listen("tcp", address)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("find a free port: %w", err)
		}
		return address, l.Close()
	}
}
