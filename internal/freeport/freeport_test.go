package freeport_test

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"testing"

	"github.com/headrace/headrace/internal/freeport"
)

// A server that is stopped and started gets its address back: no outgoing connection is given it.
func TestAddress(t *testing.T) {
	least, most := uint16(32768), uint16(60999)
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		if _, err := fmt.Sscan(string(text), &least, &most); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		address, err := freeport.Address()
		if err != nil {
			t.Fatal(err)
		}
		if port := netip.MustParseAddrPort(address).Port(); port >= least && port <= most {
			t.Fatalf("%s may be given to an outgoing connection: those have ports %d to %d", address, least, most)
		}
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
	}
}
