package web

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	// sessionTime is how long a login lasts.
	sessionTime = 12 * time.Hour
	// maxSessions bounds the logins that are remembered: the oldest ends for a new one.
	maxSessions = 256
)

// sessions are the logins of browsers. A browser keeps a random value for the token, in a cookie that no script can read,
// and the server its hash.
type sessions struct {
	cookie string

	mu   sync.Mutex
	ends map[[sha256.Size]byte]time.Time
}

// newSessions names the cookie after the port, since cookies do not tell ports apart.
func newSessions(port int) *sessions {
	return &sessions{cookie: fmt.Sprintf("inbox_session_%d", port), ends: map[[sha256.Size]byte]time.Time{}}
}

// begin logs a browser in.
func (s *sessions) begin(w http.ResponseWriter, r *http.Request) {
	value := rand.Text()
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.ends) >= maxSessions {
		var oldest [sha256.Size]byte
		first := now.Add(2 * sessionTime)
		for hash, end := range s.ends {
			if end.Before(first) {
				oldest, first = hash, end
			}
		}
		delete(s.ends, oldest)
	}
	s.ends[sha256.Sum256([]byte(value))] = now.Add(sessionTime)
	s.set(w, r, value, int(sessionTime.Seconds()))
}

// set gives the browser its cookie.
func (s *sessions) set(w http.ResponseWriter, r *http.Request, value string, age int) {
	http.SetCookie(w, &http.Cookie{
		Name: s.cookie, Value: value, Path: "/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https"),
	})
}

// lasts reports whether a request comes from a browser that is logged in.
func (s *sessions) lasts(r *http.Request) bool {
	cookie, err := r.Cookie(s.cookie)
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	hash := sha256.Sum256([]byte(cookie.Value))
	end, ok := s.ends[hash]
	if ok && !time.Now().Before(end) {
		delete(s.ends, hash)
		return false
	}
	return ok
}

// end logs a browser out.
func (s *sessions) end(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(s.cookie); err == nil {
		s.mu.Lock()
		delete(s.ends, sha256.Sum256([]byte(cookie.Value)))
		s.mu.Unlock()
	}
	s.set(w, r, "", -1)
}
