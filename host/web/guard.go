package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/inbox-wasm/inbox-wasm/host/config"
)

// guard decides which requests are answered.
//
// A request has to call the program by a name of its own, or a page whose name was made to lead here could read what it
// gets. It may not come from a page of another origin. What changes something needs the token where there is one; and
// what comes from outside needs it for everything but /healthz and /readyz. A request comes from outside if the
// server listens on more than the loopback, or if it was sent to another name than the loopback's, as through a proxy.
type guard struct {
	local    bool // listens on the loopback
	hosts    []string
	token    [sha256.Size]byte
	hasToken bool
	sessions *sessions
	origins  *http.CrossOriginProtection
	log      *slog.Logger

	mu     sync.Mutex
	warned time.Time // of a wrong token
}

func newGuard(r *config.Runtime, local bool, s *sessions, log *slog.Logger) *guard {
	g := &guard{local: local, hasToken: r.HTTPToken != "", token: sha256.Sum256([]byte(r.HTTPToken.Reveal())), sessions: s,
		origins: http.NewCrossOriginProtection(), log: log}
	if host, _, _ := net.SplitHostPort(r.ListenHTTP); host != "" {
		g.hosts = append(g.hosts, strings.ToLower(host))
	}
	for _, host := range r.HTTPHosts {
		g.hosts = append(g.hosts, strings.ToLower(host))
	}
	return g
}

// policy lets the page have its own files and nothing else, and nobody else have the page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// around has every request pass the guard before next sees it.
func (g *guard) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !g.knows(r) {
			fail(w, http.StatusMisdirectedRequest, errors.New("this is not a name of this program: use its address, or put the name into runtime.http_hosts"))
			return
		}
		if g.foreign(r) {
			fail(w, http.StatusForbidden, errors.New("requests from pages of another origin are refused"))
			return
		}
		if r.ContentLength > maxBody {
			w.Header().Set("Connection", "close") // what follows is not read
			fail(w, http.StatusRequestEntityTooLarge, errLarge)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}

// hostOf is the name that a request calls the program by, without its port.
func hostOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(r.Host, "["), "]")
	}
	return strings.ToLower(host)
}

// loopback reports whether a name is the loopback's.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// knows reports whether a request calls the program by a name of its own. An address is one where the server is reached
// by addresses: no name can be made to look like it.
func (g *guard) knows(r *http.Request) bool {
	host := hostOf(r)
	if loopback(host) || slices.Contains(g.hosts, host) {
		return true
	}
	_, err := netip.ParseAddr(host)
	return !g.local && err == nil
}

// foreign reports whether a page of another origin has sent the request. A link to the page itself may stand anywhere.
func (g *guard) foreign(r *http.Request) bool {
	if g.origins.Check(r) != nil {
		return true
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return r.URL.Path != "/" || r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document"
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || u.Host != r.Host
}

// outside reports whether a request may come from somebody who is not on this machine.
func (g *guard) outside(r *http.Request) bool { return !g.local || !loopback(hostOf(r)) }

// matches compares a token in constant time, whatever its length.
func (g *guard) matches(token string) bool {
	hash := sha256.Sum256([]byte(token))
	return g.hasToken && subtle.ConstantTimeCompare(hash[:], g.token[:]) == 1
}

// known reports whether a request has the token, or a login that had it.
func (g *guard) known(r *http.Request) bool {
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		if g.matches(token) {
			return true
		}
		g.warn(r)
		return false
	}
	return g.sessions.lasts(r)
}

// warn logs a wrong token, once a minute.
func (g *guard) warn(r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := time.Now(); now.Sub(g.warned) >= time.Minute {
		g.warned = now
		g.log.Warn("a request has a wrong token", "from", r.RemoteAddr)
	}
}

func (g *guard) mayRead(r *http.Request) bool   { return !g.outside(r) || g.known(r) }
func (g *guard) mayChange(r *http.Request) bool { return !g.hasToken || g.known(r) }

// reads lets those have an answer who may read.
func (g *guard) reads(next http.HandlerFunc) http.HandlerFunc { return g.allow(g.mayRead, next) }

// changes lets those through who may change something.
func (g *guard) changes(next http.HandlerFunc) http.HandlerFunc { return g.allow(g.mayChange, next) }

func (g *guard) allow(may func(*http.Request) bool, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !may(r) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="inbox-wasm"`)
			fail(w, http.StatusUnauthorized, errors.New("this needs the token of runtime.http_token: send it as `Authorization: Bearer TOKEN`, or log in"))
			return
		}
		next(w, r)
	}
}
