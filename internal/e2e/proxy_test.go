package e2e

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// proxy stands between the program and its database and takes answers away from it.
type proxy struct {
	listener net.Listener
	server   string

	mu    sync.Mutex
	links map[*link]bool

	// trigger is the text of a question that makes its link mute; empty is none.
	trigger atomic.Value
}

// link is a connection through the proxy.
type link struct {
	client, server net.Conn
	mute           atomic.Bool
}

func (l *link) close() {
	l.client.Close()
	l.server.Close()
}

// newProxy listens before the server that the URL names, and returns the URL that goes through it.
func newProxy(t *testing.T, databaseURL string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, server: u.Host, links: map[*link]bool{}}
	p.trigger.Store("")
	u.Host = listener.Addr().String()
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		for _, l := range p.open() {
			l.close()
		}
		running.Wait()
	})
	return p, u.String()
}

func (p *proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		client.Close()
		return
	}
	l := &link{client: client, server: server}
	defer l.close()
	p.mu.Lock()
	p.links[l] = true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.links, l)
		p.mu.Unlock()
	}()
	var asking sync.WaitGroup
	asking.Go(func() {
		_, _ = io.Copy(questions{p, l}, client) // it ends when either side is closed
		l.close()
	})
	_, _ = io.Copy(answers{l}, server)
	l.close()
	asking.Wait()
}

// questions passes on what the client says, and looks for the trigger.
type questions struct {
	*proxy
	link *link
}

func (q questions) Write(b []byte) (int, error) {
	trigger := q.trigger.Load().(string)
	if trigger != "" && bytes.Contains(b, []byte(trigger)) && q.trigger.CompareAndSwap(trigger, "") {
		q.link.mute.Store(true)
	}
	return q.link.server.Write(b)
}

// answers drops what the server says once the link is mute.
type answers struct{ *link }

func (a answers) Write(b []byte) (int, error) {
	if a.mute.Load() {
		return len(b), nil
	}
	return a.client.Write(b)
}

func (p *proxy) open() []*link {
	p.mu.Lock()
	defer p.mu.Unlock()
	var links []*link
	for l := range p.links {
		links = append(links, l)
	}
	return links
}

// cut lets what is on its way reach the server, whose answers do not come back, and then breaks every
// connection.
func (p *proxy) cut(after time.Duration) {
	links := p.silence()
	time.Sleep(after)
	for _, l := range links {
		l.close()
	}
}

// silence takes away all further answers on the connections that are open now, and keeps them open.
func (p *proxy) silence() []*link {
	links := p.open()
	for _, l := range links {
		l.mute.Store(true)
	}
	return links
}
