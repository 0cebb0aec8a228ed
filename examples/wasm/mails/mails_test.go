// Package mails tests the example.
package mails

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
	"github.com/inbox-wasm/inbox-wasm/internal/testexample"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// service sends a mail once for each key, and fails in every way before it does.
type service struct {
	mu    sync.Mutex
	tries map[string]int
	sent  map[string]string // by key
	token string
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	key := r.Header.Get("Idempotency-Key")
	s.mu.Lock()
	s.tries[key]++
	try := s.tries[key]
	s.mu.Unlock()
	switch {
	case r.Header.Get("Authorization") != "Bearer "+s.token:
		http.Error(w, "who are you?", http.StatusUnauthorized)
	case string(body) == "nobody":
		http.Error(w, "there is no such address", http.StatusUnprocessableEntity)
	case try == 1:
		http.Error(w, "busy", http.StatusServiceUnavailable)
	case try == 2:
		w.Header().Set("Retry-After", "0")
		http.Error(w, "not so fast", http.StatusTooManyRequests)
	default:
		s.mu.Lock()
		s.sent[key] = string(body)
		s.mu.Unlock()
		if try == 3 { // the mail is sent, and nobody is told
			if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
				_ = conn.Close()
			}
		}
	}
}

// Every mail is sent once, whatever the service says and does not say on the way.
func TestMails(t *testing.T) {
	cache := t.TempDir()
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s := &service{tries: map[string]int{}, sent: map[string]string{}, token: "secret"}
		server := httptest.NewServer(s)
		defer server.Close()
		t.Setenv("MAIL_ORIGIN", server.URL)
		t.Setenv("MAIL_TOKEN", "secret")
		e := testexample.New(t, db, "inbox.toml", cache)
		e.Copy("mails.wasm", testwasm.Go(t, "go"))
		e.Run("", "schema", "--apply")
		const mails = 5
		for i := range mails {
			e.Run(fmt.Sprintf("mail %d", i), "enqueue", "mails", "--group", "mails")
		}
		e.Run("nobody", "enqueue", "mails", "--group", "mails")
		for range 30 { // rows that wait for their backoff are not due, and end a run
			e.Run("", "serve", "--until-empty")
			if s.delivered() == mails*4 {
				break
			}
		}
		e.Equal("what is left", "SELECT name, "+e.Text("attempt")+", last_error FROM mails", "failed|1|the service says 422: there is no such address\n\n")
		if len(s.sent) != mails {
			t.Errorf("%d mails were sent", len(s.sent))
		}
		for key, mail := range s.sent {
			if !strings.HasPrefix(key, "mails-") || s.tries[key] != 4 {
				t.Errorf("%s, the mail %q, was tried %d times", key, mail, s.tries[key])
			}
		}
	})
}

// delivered counts the tries that ended well or in the dark.
func (s *service) delivered() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for key := range s.sent {
		n += s.tries[key]
	}
	return n
}
