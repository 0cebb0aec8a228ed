package outbound

import (
	"net"
	"net/netip"
)

// reserved are the networks that are not the public Internet's, beside those that netip knows (RFC 6890), and those
// that carry an address of another kind within them (RFC 6052, RFC 3056, RFC 4380).
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // carrier-grade
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("::/96"),
	netip.MustParsePrefix("64:ff9b::/96"), // NAT64
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("100::/64"),
	netip.MustParsePrefix("2001::/23"), // Teredo and more
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"), // 6to4
	netip.MustParsePrefix("fec0::/10"),
}

// publicOnly refuses an address that is not of the public Internet.
func publicOnly(ip net.IP) error {
	a, ok := netip.AddrFromSlice(ip)
	if a = a.Unmap(); !ok || !a.IsGlobalUnicast() || a.IsPrivate() {
		return errPrivate
	}
	for _, network := range reserved {
		if network.Contains(a) {
			return errPrivate
		}
	}
	return nil
}

// allButNone refuses an address that is nobody's: of many, or unspecified.
func allButNone(ip net.IP) error {
	if a, ok := netip.AddrFromSlice(ip); !ok || a.Unmap().IsMulticast() || a.Unmap().IsUnspecified() {
		return errPrivate
	}
	return nil
}
