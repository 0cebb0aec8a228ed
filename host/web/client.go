package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"github.com/inbox-wasm/inbox-wasm/host/config"
)

// Client speaks to the process that serves a configuration.
type Client struct {
	address string
	token   config.Secret
	http    *http.Client
}

// ErrNoAddress is the error of a configuration without an address.
var ErrNoAddress = errors.New(`runtime.listen_http is not set, and it is how a running process is spoken to; set it, as in listen_http = "127.0.0.1:9464", and start serve anew`)

// ErrNobody is the error of an address where nobody listens.
var ErrNobody = errors.New("nobody listens there: serve is not running, or was started with another runtime.listen_http")

// NewClient is for the process that listens at the address of a configuration.
func NewClient(cfg *config.Config) (*Client, error) {
	host, port, err := net.SplitHostPort(cfg.Runtime.ListenHTTP)
	if err != nil {
		return nil, ErrNoAddress
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1" // it listens everywhere, so here too
		if ip != nil && ip.To4() == nil {
			host = "::1"
		}
	}
	return &Client{
		address: net.JoinHostPort(host, port), token: cfg.Runtime.HTTPToken,
		// No proxy of the environment gets to know the token.
		http: &http.Client{
			Transport:     &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{Timeout: 5 * time.Second}).DialContext},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// Pause pauses a handler of the process.
func (c *Client) Pause(ctx context.Context, handler string) error {
	return c.post(ctx, "/api/handlers/"+url.PathEscape(handler)+"/pause", nil)
}

// Resume ends the pause of a handler of the process.
func (c *Client) Resume(ctx context.Context, handler string) error {
	return c.post(ctx, "/api/handlers/"+url.PathEscape(handler)+"/resume", nil)
}

// Wake has the process look at a group of a table; an empty group is every one.
func (c *Client) Wake(ctx context.Context, table, group string) error {
	return c.post(ctx, "/api/wake", wakeRequest{table, group})
}

func (c *Client) post(ctx context.Context, path string, body any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.address+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token.Reveal())
	}
	response, err := c.http.Do(request)
	if err != nil {
		if errors.Is(err, syscall.ECONNREFUSED) {
			err = ErrNobody
		}
		return fmt.Errorf("%s: %w", c.address, err)
	}
	defer response.Body.Close()
	if response.StatusCode < 300 {
		return nil
	}
	var refused struct{ Error string }
	// Whoever listens there may be another program.
	if err := json.NewDecoder(io.LimitReader(response.Body, maxBody)).Decode(&refused); err != nil || refused.Error == "" {
		return fmt.Errorf("%s answers %s, as no inbox-wasm does: see what listens there", c.address, response.Status)
	}
	if response.StatusCode == http.StatusUnauthorized {
		refused.Error = "the token is wrong: the running process was started with another runtime.http_token"
	}
	return fmt.Errorf("%s: %s", c.address, refused.Error)
}
