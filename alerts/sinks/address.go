package sinks

import (
	"errors"
	"net/netip"
	"slices"
)

// ErrAddress matches the error of a webhook whose address is not on the public internet,
// and not allowed by Options.Allow.
var ErrAddress = errors.New("the address is private or special")

// special are the networks of IANA's registries of special-purpose addresses to which no
// webhook is sent: loopback, private, shared (carrier-grade NAT), link-local with the
// metadata services of clouds, documentation, benchmarks, multicast, reserved. See RFC
// 6890. All IPv6 addresses outside of 2000::/3 are rejected separately.
var special = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
	"192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
	"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"2001::/23",     // Teredo and other protocols
	"2001:db8::/32", // documentation
	"2002::/16",     // 6to4: contains an IPv4 address
	"2620:4f:8000::/48", "3fff::/20",
)

// global is the part of IPv6 that is used for the internet. Addresses that contain an
// IPv4 address for translation (64:ff9b::/96) are outside of it.
var global = netip.MustParsePrefix("2000::/3")

func prefixes(list ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(list))
	for i, s := range list {
		all[i] = netip.MustParsePrefix(s)
	}
	return all
}

// mayDial reports whether a webhook may be sent to addr.
func mayDial(addr netip.Addr, allow []netip.Prefix) bool {
	if addr.Zone() != "" || !addr.IsValid() {
		return false
	}
	addr = addr.Unmap() // ::ffff:127.0.0.1 is 127.0.0.1
	holds := func(p netip.Prefix) bool { return p.Contains(addr) }
	switch {
	case slices.ContainsFunc(allow, holds):
		return true
	case addr.Is6() && !global.Contains(addr):
		return false
	}
	return !slices.ContainsFunc(special, holds)
}
