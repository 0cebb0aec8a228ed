package web

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/host"
	"github.com/inbox-wasm/inbox-wasm/host/admin"
	"github.com/inbox-wasm/inbox-wasm/host/metrics"
)

// handlersView is the answer of GET /api/handlers.
type handlersView struct {
	At       time.Time     `json:"at"`
	Version  string        `json:"version"`
	Database string        `json:"database"`
	Ready    bool          `json:"ready"`
	Reasons  []reason      `json:"reasons"`
	Warnings []warning     `json:"warnings"`
	Handlers []handlerView `json:"handlers"`
}

// warning is what the start or the last reload has found and lived with.
type warning struct {
	Line   int    `json:"line,omitempty"`
	Key    string `json:"key"`
	What   string `json:"what"`
	Remedy string `json:"remedy,omitempty"`
}

type handlerView struct {
	Handler string      `json:"handler"`
	Table   string      `json:"table"`
	Group   string      `json:"group,omitempty"`
	Form    string      `json:"form"`
	Threads int         `json:"threads"`
	Busy    int         `json:"busy"` // threads in a call
	Paused  bool        `json:"paused"`
	Counts  host.Counts `json:"counts"`
	// Depth is nil until the tables have been counted for the first time.
	Depth    *depth    `json:"depth"`
	Duration histogram `json:"duration"`
	// Memory is the size of the largest instance, after its last call.
	Memory     int64      `json:"memory_bytes"`
	DeadLetter *target    `json:"dead_letter"` // nil where there is none
	Module     moduleView `json:"module"`
}

// target is where dead letters go.
type target struct {
	Table string `json:"table"`
	Group string `json:"group,omitempty"`
}

// depth is what waits for a handler, as it was when the tables were last counted.
type depth struct {
	Due     int64 `json:"due"`
	Delayed int64 `json:"delayed"`
	InWork  int64 `json:"in_work"`
	Dead    int64 `json:"dead"` // in the handler's dead letter target
	// OldestAge is nil where nothing waits, or the table has no created_at.
	OldestAge *float64 `json:"oldest_age_seconds"`
}

type moduleView struct {
	Path           string    `json:"path"`
	Hash           string    `json:"sha256"`
	Size           int64     `json:"bytes"`
	ABI            string    `json:"abi"`
	MemoryLimit    int64     `json:"memory_limit_bytes"`
	CompileSeconds float64   `json:"compile_seconds"`
	Loaded         time.Time `json:"loaded"`
}

// views are the answers that viewers share.
type views struct {
	handlers sample[*handlersView]
	tables   sample[[]admin.TableStats]
}

// abiOf names how a module is called.
func abiOf(s host.HandlerStatus) string {
	if s.Module.Command {
		return "WASI command"
	}
	return abi.Module
}

// handlersFor is how long a view of the handlers is shown to whoever asks.
const handlersFor = time.Second

// lookAtHandlers gathers what the process knows of itself. It asks no database.
func (s *Server) lookAtHandlers(context.Context) (*handlersView, error) {
	service, err := s.running()
	if err != nil {
		return nil, err
	}
	families, err := service.Metrics().Gather()
	if err != nil {
		return nil, fmt.Errorf("gather the metrics: %w", err)
	}
	m := newMeasures(families)
	ready := s.readiness()
	view := &handlersView{
		At: time.Now(), Version: s.options.Version, Database: s.options.Config.Database.URL.String(),
		Ready: ready.Ready, Reasons: ready.Reasons, Warnings: []warning{}, Handlers: []handlerView{},
	}
	for _, w := range service.Warnings() {
		view.Warnings = append(view.Warnings, warning{w.Line, w.Key, w.What, w.Remedy})
	}
	for _, h := range service.Handlers() {
		v := handlerView{
			Handler: h.Handler, Table: h.Table, Group: h.Group, Form: h.Form, Threads: h.Threads, Busy: h.Busy, Paused: h.Paused, Counts: h.Counts,
			Depth:    m.depth(h),
			Duration: m.distribution(metrics.HandlerTime.Name, h.Handler),
			Memory:   int64(m.gauge(metrics.GuestMemory.Name, h.Handler)),
			Module: moduleView{
				Path: h.Module.Path, Hash: h.Module.Hash, Size: h.Module.Size, ABI: abiOf(h), MemoryLimit: h.Memory,
				CompileSeconds: h.Module.CompileTime.Seconds(), Loaded: h.Loaded,
			},
		}
		if h.DeadTable != "" {
			v.DeadLetter = &target{h.DeadTable, h.DeadGroup}
		}
		view.Handlers = append(view.Handlers, v)
	}
	return view, nil
}

// handlers answers with what every handler does.
func (s *Server) handlers(w http.ResponseWriter, _ *http.Request) {
	view, _, err := s.views.handlers.get(s.work)
	if err != nil {
		failed(w, err)
		return
	}
	answer(w, http.StatusOK, view)
}

// running is the service, once there is one.
func (s *Server) running() (*host.Service, error) {
	if service := s.service.Load(); service != nil {
		return service, nil
	}
	return nil, errStarting
}

// pausedView is the answer of pause and resume.
type pausedView struct {
	Handler string `json:"handler"`
	Paused  bool   `json:"paused"`
}

func (s *Server) pause(w http.ResponseWriter, r *http.Request)  { s.switchHandler(w, r, true) }
func (s *Server) resume(w http.ResponseWriter, r *http.Request) { s.switchHandler(w, r, false) }

func (s *Server) switchHandler(w http.ResponseWriter, r *http.Request, pause bool) {
	service, err := s.running()
	name := r.PathValue("name")
	switch {
	case err != nil:
	case pause:
		err = service.Pause(name)
	default:
		err = service.Resume(name)
	}
	if err != nil {
		failed(w, err)
		return
	}
	s.views.handlers.forget()
	answer(w, http.StatusOK, pausedView{name, pause})
}

// wakeRequest says which rows were written.
type wakeRequest struct {
	Table string `json:"table"`
	Group string `json:"group"` // empty is every one
}

// wake has the handlers look at a table at once.
func (s *Server) wake(w http.ResponseWriter, r *http.Request) {
	var request wakeRequest
	err := read(r, &request)
	var service *host.Service
	if err == nil {
		service, err = s.running()
	}
	if err == nil {
		err = service.Wake(request.Table, request.Group)
	}
	if err != nil {
		failed(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// reloadedView is the answer of a reload.
type reloadedView struct {
	Kept    []string `json:"kept"`
	Changed []string `json:"changed"`
	Added   []string `json:"added"`
	Removed []string `json:"removed"`
}

// reload reads the configuration anew. It takes as long as running calls of the handlers that change.
func (s *Server) reload(w http.ResponseWriter, r *http.Request) {
	if _, err := s.running(); err != nil {
		failed(w, err)
		return
	}
	patient(w)
	what, err := s.options.Reload(r.Context())
	if err != nil {
		failed(w, refusal{http.StatusUnprocessableEntity, err})
		return
	}
	s.views.handlers.forget()
	answer(w, http.StatusOK, reloadedView{list(what.Kept), list(what.Changed), list(what.Added), list(what.Removed)})
}

// list is a list that is JSON's [] where it is empty.
func list(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names
}

// patience is how long an action may take that moves rows or waits for handlers.
const patience = 10 * time.Minute

// patient lets the answer of a request come later than others.
func patient(w http.ResponseWriter) {
	// An error: the connection has ended, which writing to it will tell.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(patience))
}
