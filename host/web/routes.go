package web

import "net/http"

// routes is what the server answers.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	open := mux.HandleFunc
	reads := func(pattern string, h http.HandlerFunc) { mux.HandleFunc(pattern, s.guard.reads(h)) }
	changes := func(pattern string, h http.HandlerFunc) { mux.HandleFunc(pattern, s.guard.changes(h)) }

	open("GET /healthz", s.alive)
	open("GET /readyz", s.ready)
	reads("GET /metrics", s.metrics)

	open("GET /{$}", s.page)
	open("GET /login", s.login)
	open("POST /login", s.logIn)
	open("POST /logout", s.logOut)
	open("GET /style.css", s.file)
	open("GET /icon.svg", s.file)
	reads("/", s.file)

	reads("GET /api/session", s.session)
	reads("GET /api/handlers", s.handlers)
	changes("POST /api/handlers/{name}/pause", s.pause)
	changes("POST /api/handlers/{name}/resume", s.resume)
	changes("POST /api/wake", s.wake)
	changes("POST /api/reload", s.reload)
	reads("GET /api/tables", s.tables)
	reads("GET /api/tables/{table}/rows", s.rows)
	reads("GET /api/tables/{table}/row", s.row)
	reads("GET /api/tables/{table}/payload", s.payload)
	changes("POST /api/tables/{table}/redrive", s.redrive)
	changes("POST /api/tables/{table}/purge", s.purge)
	changes("POST /api/tables/{table}/cancel", s.cancel)
	return mux
}
