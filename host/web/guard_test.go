package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

const withToken = `http_token = "` + secretToken + `"`

// outsideToken listens everywhere.
const outsideToken = withToken + "\nlisten_http = \"0.0.0.0:0\"\nhttp_hosts = [\"queue.example.com\"]"

// Who may do what, by where the server listens, whether there is a token, and by what the request is called.
func TestWhoMayDoWhat(t *testing.T) {
	const read, change, health = "GET /api/session", "POST /api/wake", "GET /healthz"
	for _, test := range []struct {
		name, runtime string
		sent          func(*http.Request) // by a client without the token
		want          map[string]int
	}{
		{"on the loopback without a token", "", nil, map[string]int{read: 200, change: 503, health: 200}},
		{"on the loopback with a token", withToken, nil, map[string]int{read: 200, change: 401, health: 200}},
		{"everywhere", outsideToken, nil, map[string]int{read: 401, change: 401, health: 200}},
		{"everywhere, by a name", outsideToken, called("queue.example.com"), map[string]int{read: 401, change: 401, health: 200}},
		{"through a proxy to the loopback", withToken + "\nhttp_hosts = [\"queue.example.com\"]", called("Queue.Example.com:443"), map[string]int{read: 401, change: 401, health: 200}},
		{"with a wrong token", withToken, header("Authorization", "Bearer "+secretToken+"x"), map[string]int{read: 200, change: 401, health: 200}},
		{"with a part of the token", outsideToken, header("Authorization", "Bearer "+secretToken[:10]), map[string]int{read: 401, change: 401, health: 200}},
		{"with an empty token", outsideToken, header("Authorization", "Bearer "), map[string]int{read: 401, change: 401, health: 200}},
		{"by another scheme", outsideToken, header("Authorization", "Basic "+secretToken), map[string]int{read: 401, change: 401, health: 200}},
		{"with the token as a cookie", outsideToken, header("Cookie", "inbox_session_PORT="+secretToken), map[string]int{read: 401, change: 401, health: 200}},
		{"with the token", outsideToken, header("Authorization", "bearer "+secretToken), map[string]int{read: 200, change: 503, health: 200}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := bare(t, test.runtime)
			f.token = ""
			if test.sent == nil {
				test.sent = func(*http.Request) {}
			}
			_, port, _ := strings.Cut(f.server.Address(), "]:")
			if port == "" {
				_, port, _ = strings.Cut(f.server.Address(), ":")
			}
			f.url = "http://127.0.0.1:" + port
			for request, want := range test.want {
				method, path, _ := strings.Cut(request, " ")
				r := f.request(method, path, "", func(r *http.Request) {
					test.sent(r)
					r.Header.Set("Cookie", strings.ReplaceAll(r.Header.Get("Cookie"), "PORT", port))
				})
				if r.status != want {
					t.Errorf("%s: %d, want %d: %s", request, r.status, want, r.body)
				}
				if r.status == 401 && r.header.Get("WWW-Authenticate") == "" {
					t.Errorf("%s: the answer does not say how to authenticate", request)
				}
			}
		})
	}
}

// What can be read from outside without the token is health, and the form that asks for it.
func TestNothingIsReadFromOutside(t *testing.T) {
	f := bare(t, outsideToken)
	f.token = ""
	f.url = "http://127.0.0.1:" + port(f)
	for _, path := range []string{"/", "/metrics", "/app.js", "/api/handlers", "/api/tables", "/api/tables/jobs/rows", "/api/tables/jobs/row?id=1", "/api/tables/jobs/payload?id=1", "/api/session", "/api/none", "/none"} {
		if r := f.get(path); r.status != 401 {
			t.Errorf("%s: %d", path, r.status)
		} else if path == "/" && !strings.Contains(r.body, `action="/login"`) {
			t.Errorf("the page does not ask for the token:\n%s", r.body)
		}
	}
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 503, "/login": 200, "/style.css": 200, "/icon.svg": 200} {
		if r := f.get(path); r.status != want {
			t.Errorf("%s: %d", path, r.status)
		}
	}
}

func port(f *fixture) string {
	return f.server.Address()[strings.LastIndexByte(f.server.Address(), ':')+1:]
}

// A name that was made to lead here is not this program's.
func TestNamesThatLeadHere(t *testing.T) {
	for _, test := range []struct {
		runtime string
		host    string
		want    int
	}{
		{"", "127.0.0.1", 200}, {"", "localhost:9999", 200}, {"", "LOCALHOST", 200}, {"", "[::1]:9464", 200}, {"", "127.3.2.1:1", 200},
		{"", "evil.example", 421}, {"", "evil.example:9464", 421}, {"", "localhost.evil.example", 421}, {"", "127.0.0.1.evil.example", 421},
		{"", "10.0.0.7", 421}, {"", "[::ffff:10.0.0.7]", 421}, {"", "2130706433", 421}, {"", "localhost.", 421},
		{outsideToken, "10.0.0.7:9464", 200}, {outsideToken, "[fd00::7]:9464", 200}, {outsideToken, "queue.example.com", 200},
		{outsideToken, "evil.example", 421}, {outsideToken, "x.queue.example.com", 421},
	} {
		f := bare(t, test.runtime)
		f.url = "http://127.0.0.1:" + port(f)
		for _, path := range []string{"/healthz", "/api/session"} {
			if r := f.get(path, called(test.host)); r.status != test.want {
				t.Errorf("%q, called %s: %d, want %d: %s", test.runtime, test.host, r.status, test.want, r.body)
			}
		}
	}
}

// A page of another origin can neither act nor look, whether the browser says where a request comes from or not.
func TestRequestsOfOtherPages(t *testing.T) {
	f := bare(t, "")
	for _, test := range []struct {
		name   string
		header map[string]string
		get    int
		post   int
	}{
		{"no browser", nil, 200, 503},
		{"the page itself", map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": f.url}, 200, 503},
		{"somebody who types", map[string]string{"Sec-Fetch-Site": "none"}, 200, 503},
		{"another site", map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}, 403, 403},
		{"another site, silently", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403, 403},
		{"another port of this machine", map[string]string{"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:1"}, 403, 403},
		{"an old browser on another site", map[string]string{"Origin": "https://evil.example"}, 403, 403},
		{"an old browser on another port", map[string]string{"Origin": "http://127.0.0.1:1"}, 403, 403},
		{"an origin that is none", map[string]string{"Origin": "null"}, 403, 403},
	} {
		t.Run(test.name, func(t *testing.T) {
			from := func(r *http.Request) {
				for name, value := range test.header {
					r.Header.Set(name, value)
				}
			}
			if r := f.get("/api/session", from); r.status != test.get {
				t.Errorf("reading: %d, want %d", r.status, test.get)
			}
			for _, path := range []string{"/api/wake", "/api/handlers/work/pause", "/api/reload", "/api/tables/jobs/purge"} {
				if r := f.request("POST", path, "", from); r.status != test.post {
					t.Errorf("%s: %d, want %d", path, r.status, test.post)
				}
			}
			if r := f.request("POST", "/login", "", from); test.post == 403 && r.status != 403 {
				t.Errorf("logging in: %d", r.status)
			}
		})
	}
	link := func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Sec-Fetch-Mode", "navigate")
		r.Header.Set("Sec-Fetch-Dest", "document")
	}
	if r := f.get("/", link); r.status != 200 {
		t.Errorf("a link to the page: %d", r.status)
	}
	if r := f.get("/api/handlers", link); r.status != 403 {
		t.Errorf("a link to what the page reads: %d", r.status)
	}
	frame := func(r *http.Request) { link(r); r.Header.Set("Sec-Fetch-Dest", "iframe") }
	if r := f.get("/", frame); r.status != 403 {
		t.Errorf("a frame of another page: %d", r.status)
	}
}

// Every answer forbids what no page of this program needs.
func TestHeadersOfEveryAnswer(t *testing.T) {
	f := bare(t, withToken)
	for path, change := range map[string]func(*http.Request){
		"/": called(""), "/healthz": called(""), "/none": called(""), "/style.css": called(""), "/login": called(""), "/api/session": called("evil.example"), "/metrics": called(""),
	} {
		h := f.get(path, change).header
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
		} {
			if h.Get(name) != want {
				t.Errorf("%s: %s is %q", path, name, h.Get(name))
			}
		}
		policy := h.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'", "script-src 'self'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: the policy lacks %s: %s", path, want, policy)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") || strings.Contains(policy, "*") {
			t.Errorf("%s: the policy lets something in: %s", path, policy)
		}
		if h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: other origins may read it", path)
		}
	}
}

// A login is a cookie that is not the token, which scripts and other sites do not get, and which ends.
func TestLogin(t *testing.T) {
	f := bare(t, outsideToken)
	f.token = ""
	f.url = "http://127.0.0.1:" + port(f)
	form := func(token string) response {
		return f.request("POST", "/login", url.Values{"token": {token}}.Encode(), header("Content-Type", "application/x-www-form-urlencoded"))
	}
	for _, wrong := range []string{"", "x", secretToken + " ", strings.ToUpper(secretToken)} {
		r := form(wrong)
		if r.status != 401 || r.header.Get("Set-Cookie") != "" || !strings.Contains(r.body, "That is not the token") {
			t.Errorf("the token %q: %d, %s", wrong, r.status, r.header.Get("Set-Cookie"))
		}
	}
	r := form(secretToken)
	cookie := r.header.Get("Set-Cookie")
	if r.status != 303 || r.header.Get("Location") != "/" {
		t.Errorf("the login: %d to %s", r.status, r.header.Get("Location"))
	}
	for _, want := range []string{"HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("the cookie lacks %s: %s", want, cookie)
		}
	}
	if strings.Contains(cookie, secretToken) || strings.Contains(cookie, "Secure") {
		t.Errorf("the cookie: %s", cookie)
	}
	value, _, _ := strings.Cut(cookie, ";")
	as := header("Cookie", value)
	for path, want := range map[string]int{"/": 200, "/app.js": 200, "/api/session": 200} {
		if r := f.get(path, as); r.status != want {
			t.Errorf("%s with a login: %d", path, r.status)
		}
	}
	if r := f.get("/api/session", as); r.body != `{"has_token":true,"logged_in":true,"may_change":true}`+"\n" {
		t.Errorf("the session: %s", r.body)
	}
	if r := f.request("POST", "/api/wake", "", as); r.status != 503 {
		t.Errorf("an action with a login: %d", r.status)
	}
	if r := f.get("/api/session", header("Cookie", value+"x")); r.status != 401 {
		t.Errorf("another cookie: %d", r.status)
	}
	secure := f.request("POST", "/login", url.Values{"token": {secretToken}}.Encode(), header("Content-Type", "application/x-www-form-urlencoded"), header("X-Forwarded-Proto", "https"))
	if !strings.Contains(secure.header.Get("Set-Cookie"), "Secure") {
		t.Errorf("the cookie behind a proxy with TLS: %s", secure.header.Get("Set-Cookie"))
	}
	if r := f.request("POST", "/logout", "", as); r.status != 303 || !strings.Contains(r.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("the logout: %d, %s", r.status, r.header.Get("Set-Cookie"))
	}
	if r := f.get("/api/session", as); r.status != 401 {
		t.Errorf("after the logout: %d", r.status)
	}
}

// Logins are bounded: the oldest ends for a new one.
func TestManyLogins(t *testing.T) {
	f := bare(t, withToken)
	var first string
	for range maxSessions + 1 {
		r := f.request("POST", "/login", url.Values{"token": {secretToken}}.Encode(), header("Content-Type", "application/x-www-form-urlencoded"))
		if first == "" {
			first, _, _ = strings.Cut(r.header.Get("Set-Cookie"), ";")
		}
	}
	f.token = ""
	equal(t, "logins", len(f.server.sessions.ends), maxSessions)
	if r := f.request("POST", "/api/wake", "", header("Cookie", first)); r.status != 401 {
		t.Errorf("the first login: %d", r.status)
	}
}

// No answer and no line of the log holds the token, whatever is asked.
func TestTheTokenIsNowhere(t *testing.T) {
	f := bare(t, withToken)
	var seen strings.Builder
	for _, path := range []string{"/", "/login", "/healthz", "/readyz", "/metrics", "/api/session", "/api/handlers", "/api/tables", "/api/tables/jobs/rows", "/app.js", "/" + "x"} {
		r := f.get(path)
		seen.WriteString(r.body)
		for _, values := range r.header {
			seen.WriteString(strings.Join(values, " "))
		}
	}
	for _, sent := range []string{secretToken, secretToken + "x"} {
		f.token = sent
		seen.WriteString(f.request("POST", "/api/wake", `{"table":`).body)
		seen.WriteString(f.request("POST", "/login", url.Values{"token": {sent + "y"}}.Encode(), header("Content-Type", "application/x-www-form-urlencoded")).body)
	}
	seen.WriteString(f.log.String())
	if strings.Contains(seen.String(), secretToken) {
		t.Errorf("the token is in\n%s", seen.String())
	}
	if !strings.Contains(f.log.String(), "a request has a wrong token") {
		t.Error("the log does not tell of the wrong token")
	}
}
