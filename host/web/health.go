package web

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/inbox-wasm/inbox-wasm/host"
)

// starting is why nothing is ready before there is a service.
var starting = host.Reason{What: "starting: modules are compiled, and tables and statements are checked"}

// alive answers as long as the process does anything.
func (s *Server) alive(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintln(w, "ok")
}

// readiness is the answer of /readyz.
type readiness struct {
	Ready   bool     `json:"ready"`
	Reasons []reason `json:"reasons"`
}

type reason struct {
	Handler string `json:"handler,omitempty"`
	What    string `json:"what"`
}

func (s *Server) readiness() readiness {
	reasons := []host.Reason{starting}
	if service := s.service.Load(); service != nil {
		reasons = service.Unready()
	}
	r := readiness{Ready: len(reasons) == 0, Reasons: []reason{}}
	for _, why := range reasons {
		r.Reasons = append(r.Reasons, reason(why))
	}
	return r
}

// ready answers whether the service does its work, as text for people and as JSON for who accepts it.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	found := s.readiness()
	status := http.StatusOK
	if !found.Ready {
		status = http.StatusServiceUnavailable
	}
	if strings.Contains(r.Header.Get("Accept"), "application/json") {
		answer(w, status, found)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	if found.Ready {
		fmt.Fprintln(w, "ready")
	}
	for _, why := range found.Reasons {
		if why.Handler != "" {
			fmt.Fprintf(w, "handler %s: ", why.Handler)
		}
		fmt.Fprintln(w, why.What)
	}
}

// metrics answers in the format of Prometheus.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	service := s.service.Load()
	if service == nil {
		failed(w, errStarting)
		return
	}
	promhttp.HandlerFor(service.Metrics(), promhttp.HandlerOpts{MaxRequestsInFlight: 4, ErrorLog: nil}).ServeHTTP(w, r)
}

// errStarting is the error of everything that needs a service before there is one.
var errStarting = refuse(http.StatusServiceUnavailable, starting.What)
