package web

import (
	"html/template"
	"net/http"
)

var loginPage = template.Must(template.ParseFS(files, "login.html"))

// login shows the form that asks for the token.
func (s *Server) login(w http.ResponseWriter, r *http.Request) { s.askToken(w, http.StatusOK, "") }

func (s *Server) askToken(w http.ResponseWriter, status int, wrong string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = loginPage.Execute(w, map[string]any{"Wrong": wrong, "Token": s.guard.hasToken}) // the client has gone
}

// logIn takes the token of the form and begins a session.
func (s *Server) logIn(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		failed(w, refusal{http.StatusBadRequest, err})
		return
	}
	if !s.guard.matches(r.PostForm.Get("token")) {
		s.guard.warn(r)
		s.askToken(w, http.StatusUnauthorized, "That is not the token of runtime.http_token.")
		return
	}
	s.sessions.begin(w, r)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// logOut ends the session.
func (s *Server) logOut(w http.ResponseWriter, r *http.Request) {
	s.sessions.end(w, r)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// session tells the page what it may do.
func (s *Server) session(w http.ResponseWriter, r *http.Request) {
	answer(w, http.StatusOK, map[string]any{
		"may_change": s.guard.mayChange(r),
		"has_token":  s.guard.hasToken,
		"logged_in":  s.sessions.lasts(r),
	})
}
