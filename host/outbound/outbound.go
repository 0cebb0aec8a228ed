// Package outbound sends the HTTP requests of guests, to the origins that their handler allows and to no other.
//
// A name may resolve to any address, and to another one the next time, so that an address is judged when it is
// connected to: one of a private network is refused, unless the origin is declared to be private. Redirects are
// judged as requests are. No proxy of the environment is used, and certificates are verified.
package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/inbox-wasm/inbox-wasm/abi"
)

// Target is an origin that may be asked.
type Target struct {
	Origin  string // scheme://host or scheme://host:port
	Private bool   // its addresses may be of a private network
}

// Options of a client.
type Options struct {
	Targets     []Target
	MaxResponse int64 // bytes of a response's body
	// Resolver and Roots are the system's where they are nil.
	Resolver *net.Resolver
	Roots    *x509.CertPool
}

// Client sends requests. It may be used from many goroutines, and has to be closed.
type Client struct {
	targets     map[string]Target // by their normal origin
	private     map[string]bool   // host:port of those that may be
	maxResponse int64
	transport   *http.Transport
	client      *http.Client
}

const (
	connectTimeout = 10 * time.Second
	idleTimeout    = 90 * time.Second
	maxRedirects   = 10
	maxHeader      = 64 << 10
)

var (
	errNotAllowed = errors.New("the handler does not allow it")
	errPrivate    = errors.New("its address is of a private network")
)

// New makes a client. It connects to nothing yet.
func New(o Options) *Client {
	c := &Client{targets: map[string]Target{}, private: map[string]bool{}, maxResponse: o.MaxResponse}
	for _, t := range o.Targets {
		u, err := url.Parse(t.Origin)
		if err != nil {
			continue // the configuration has been checked
		}
		c.targets[origin(u)] = t
		if t.Private {
			c.private[address(u)] = true
		}
	}
	open, guarded := c.dialer(o.Resolver, allButNone), c.dialer(o.Resolver, publicOnly)
	c.transport = &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if c.private[strings.ToLower(address)] {
				return open.DialContext(ctx, network, address)
			}
			return guarded.DialContext(ctx, network, address)
		},
		TLSClientConfig:        &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    connectTimeout,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // a guest gets what was sent, and no more than the limit
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConnsPerHost:    8,
		IdleConnTimeout:        idleTimeout,
	}
	c.client = &http.Client{Transport: c.transport, CheckRedirect: c.redirect}
	return c
}

func (c *Client) dialer(r *net.Resolver, judge func(net.IP) error) *net.Dialer {
	return &net.Dialer{Timeout: connectTimeout, Resolver: r, Control: func(_, address string, _ syscall.RawConn) error {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return err
		}
		return judge(net.ParseIP(host))
	}}
}

// Close closes the connections that wait for another request.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Do sends a request, given as JSON, and gives the response as JSON where errno is 0, or what went wrong where it
// is Failed. It returns as soon as ctx ends.
func (c *Client) Do(ctx context.Context, text []byte) (result []byte, errno abi.Errno) {
	in, timeout, err := parse(text)
	if err != nil {
		return nil, abi.BadArgument
	}
	if _, ok := c.targets[origin(in.URL)]; !ok {
		return nil, abi.NotAllowed
	}
	bounded := ctx
	if timeout > 0 {
		var cancel context.CancelFunc
		bounded, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	span := trace.SpanFromContext(ctx)
	carry(ctx, span, in)
	out, err := c.client.Do(in.WithContext(bounded))
	if err == nil {
		if span.IsRecording() {
			span.SetAttributes(semconv.HTTPResponseStatusCode(out.StatusCode))
		}
		result, err = c.read(out)
	}
	switch {
	case err == nil:
		return result, 0
	case ctx.Err() != nil:
		return nil, abi.DeadlinePassed
	case errors.Is(err, errNotAllowed), errors.Is(err, errPrivate):
		return nil, abi.NotAllowed
	case errors.Is(err, errTooLarge):
		return nil, abi.TooLarge
	}
	return failure(err, bounded.Err() != nil), abi.Failed
}

var errTooLarge = errors.New("the response is too large")

func (c *Client) read(r *http.Response) ([]byte, error) {
	defer r.Body.Close()
	if r.ContentLength > c.maxResponse {
		return nil, errTooLarge
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, c.maxResponse+1))
	if err != nil {
		return nil, fmt.Errorf("read the response: %w", err)
	}
	if int64(len(body)) > c.maxResponse {
		return nil, errTooLarge
	}
	return respond(r, body)
}

// redirect judges where a response leads to, and takes from the request what was meant for another origin.
func (c *Client) redirect(next *http.Request, before []*http.Request) error {
	if len(before) > maxRedirects {
		return fmt.Errorf("it is redirected more than %d times", maxRedirects)
	}
	if _, ok := c.targets[origin(next.URL)]; !ok || next.URL.User != nil {
		return fmt.Errorf("it is redirected to another origin: %w", errNotAllowed)
	}
	if origin(next.URL) != origin(before[0].URL) {
		for _, name := range []string{"Authorization", "Cookie", "Www-Authenticate"} {
			next.Header.Del(name)
		}
	}
	next.Header.Del("Referer")
	return nil
}

// origin is scheme, host and port in one form, the scheme's own port left out.
func origin(u *url.URL) string {
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	switch {
	case scheme == "http":
		host = strings.TrimSuffix(host, ":80")
	case scheme == "https":
		host = strings.TrimSuffix(host, ":443")
	}
	return scheme + "://" + host
}

// address is what is dialled for a URL.
func address(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}
