package config

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// address reads a host:port to listen on; empty is off.
func address(dst *string) reader {
	return func(p *parser, n *node) {
		s, ok := p.text(n)
		if !ok || s == "" {
			return
		}
		host, port, err := net.SplitHostPort(s)
		if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || host != "" && !isHost(host) {
			p.complain(n, &fault{"is no address to listen on", `write host:port: "127.0.0.1:9464"`})
			return
		}
		*dst = s
	}
}

// isHost tells whether a text is an address or the name of a host, and nothing around it.
func isHost(text string) bool {
	if _, err := netip.ParseAddr(text); err == nil {
		return true
	}
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r != '-' && r != '.' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// hosts reads the names that requests may call the program by.
func hosts(dst *[]string) reader {
	return func(p *parser, n *node) {
		nameList(dst)(p, n)
		for i, name := range *dst {
			if !isHost(name) {
				p.complain(n.list[i], &fault{"is no name of a host", `write the name alone, without a port: "queue.example.com"`})
			}
		}
	}
}

// shortestToken is long enough that nobody guesses it over the network.
const shortestToken = 16

// token reads what travels in a header.
func token(dst *Secret) reader {
	return func(p *parser, n *node) {
		s, ok := p.text(n)
		if !ok || s == "" {
			return
		}
		if len(s) < shortestToken || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
			p.fail(n, "must be at least "+strconv.Itoa(shortestToken)+" visible ASCII characters without spaces", "make one with `openssl rand -hex 24`")
			return
		}
		*dst = Secret(s)
	}
}

// Loopback tells whether the HTTP side is reached from this machine alone.
func (r *Runtime) Loopback() bool {
	host, _, _ := net.SplitHostPort(r.ListenHTTP)
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// checkHTTP asks for a token where others than this machine's users may come.
func (p *parser) checkHTTP(c *Config) {
	r := c.Runtime
	if r.ListenHTTP == "" || r.HTTPToken != "" || p.blamed("runtime.http_token") {
		return
	}
	const remedy = `set http_token = "${HTTP_TOKEN}"`
	if !r.Loopback() {
		p.refuse(r.n, "listen_http", "is reached from other machines without a token", remedy+", or listen on 127.0.0.1")
	}
	if len(r.HTTPHosts) > 0 {
		p.refuse(r.n, "http_hosts", "lets requests in from other machines without a token", remedy+", or remove the key")
	}
}
