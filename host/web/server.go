package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/inbox-wasm/inbox-wasm/host"
	"github.com/inbox-wasm/inbox-wasm/host/admin"
	"github.com/inbox-wasm/inbox-wasm/host/config"
)

// Options say what a server is made of.
type Options struct {
	Config *config.Config
	Log    *slog.Logger
	// Reload reads the configuration anew, as SIGHUP does.
	Reload func(ctx context.Context) (host.Reloaded, error)
	// Version is what the page says of the program.
	Version string
}

// What bounds a client that is slow, or means ill.
const (
	maxConnections = 128
	maxHeader      = 16 << 10
	maxBody        = 64 << 10
	headerTimeout  = 5 * time.Second
	readTimeout    = 10 * time.Second
	writeTimeout   = 30 * time.Second
	idleTimeout    = time.Minute
	// closeTimeout is how long requests may take to end when the server stops. Their contexts have ended by then.
	closeTimeout = 5 * time.Second
)

// Server is the HTTP side of one process.
type Server struct {
	options  Options
	guard    *guard
	sessions *sessions
	service  atomic.Pointer[host.Service]
	views    views

	listener net.Listener
	server   *http.Server
	ended    chan error
	// work is the context of every request, which stop ends.
	work context.Context
	stop context.CancelFunc
	// moving has room for the one request that moves or deletes rows, reading for those that read a table, and loading for
	// the one that reads a whole payload.
	moving, reading, loading chan struct{}
	once                     sync.Once
	closeErr                 error
}

// New listens on the address of the configuration and answers. Until [Server.Attach] nothing is ready.
func New(o Options) (*Server, error) {
	runtime := &o.Config.Runtime
	listener, err := net.Listen("tcp", runtime.ListenHTTP)
	if err != nil {
		return nil, listenProblem(o.Config, err)
	}
	local := listener.Addr().(*net.TCPAddr).IP.IsLoopback()
	if !local && runtime.HTTPToken == "" {
		// The name of the loopback has led elsewhere.
		return nil, errors.Join(listenProblem(o.Config, fmt.Errorf("%s is reached from other machines, and there is no token", listener.Addr())), listener.Close())
	}
	s := &Server{
		options: o, listener: listener, sessions: newSessions(listener.Addr().(*net.TCPAddr).Port), ended: make(chan error, 1),
		moving: make(chan struct{}, 1), reading: make(chan struct{}, 2), loading: make(chan struct{}, 1),
	}
	s.work, s.stop = context.WithCancel(context.Background())
	s.views.handlers = sample[*handlersView]{least: handlersFor, take: s.lookAtHandlers}
	s.views.tables = sample[[]admin.TableStats]{least: tablesFor, take: s.countTables}
	s.guard = newGuard(runtime, local, s.sessions, o.Log)
	crowd := newCrowd(maxConnections)
	s.server = &http.Server{
		Handler:           crowd.serve(s.guard.around(s.routes())),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader,
		BaseContext:    func(net.Listener) context.Context { return s.work },
		ConnState:      crowd.note,
		ConnContext:    crowd.name,
		ErrorLog:       slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug), // what clients do wrong
	}
	s.server.RegisterOnShutdown(crowd.dismiss)
	go func() { s.ended <- s.server.Serve(listener) }()
	o.Log.Info("listening for HTTP", "address", s.Address(), "token", runtime.HTTPToken != "")
	return s, nil
}

// listenProblem is the error of an address that cannot be listened on.
func listenProblem(cfg *config.Config, err error) error {
	return config.Problems{{File: cfg.Path, Line: cfg.Runtime.LineOf("listen_http"), Key: "runtime.listen_http",
		What: err.Error(), Remedy: "see that nothing else listens there, and that the address is one of this machine"}}
}

// Address is where the server listens, as host:port.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Attach has the server speak about a service, which has to outlast it. It does nothing without a server.
func (s *Server) Attach(service *host.Service) {
	if s != nil {
		s.service.Store(service)
	}
}

// Close ends the server: requests on their way are cancelled, and cut off where they do not end by themselves. It may be
// called again, and without a server.
func (s *Server) Close() error {
	if s == nil {
		return nil
	}
	s.once.Do(func() {
		s.stop()
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		err := s.server.Shutdown(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			err = s.server.Close()
		}
		if served := <-s.ended; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		s.closeErr = err
	})
	return s.closeErr
}
