package command

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/inbox-wasm/inbox-wasm/host"
)

const (
	// statusEvery is how often the status is looked at.
	statusEvery = 5 * time.Second
	// afterDrain is how long a stop takes at most when the drain is over: calls are interrupted, the last settlements
	// made, modules and connections closed.
	afterDrain = 30 * time.Second
)

// supervisor is systemd, or whoever else listens at NOTIFY_SOCKET: it is told when the service is ready, reloads and
// stops, how it does, and that it is alive. Where nobody listens, nothing is sent.
type supervisor struct {
	log      *slog.Logger
	watchdog time.Duration // within which a sign of life has to come; 0 for none

	mu      sync.Mutex
	refused string // why the last reload was refused, empty after one that worked
	said    string // the last status
	deaf    bool   // a message could not be sent, which was logged
}

func newSupervisor(log *slog.Logger) *supervisor {
	s := &supervisor{log: log}
	var err error
	if s.watchdog, err = daemon.SdWatchdogEnabled(false); err != nil {
		log.Warn("the watchdog's variables make no sense; it gets no signs of life", "error", err)
	}
	return s
}

// tell sends a message of one assignment a line.
func (s *supervisor) tell(lines ...string) {
	_, err := daemon.SdNotify(false, strings.Join(lines, "\n"))
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.deaf {
		s.deaf = true
		s.log.Warn("the service manager could not be told how the service does", "error", err)
	}
}

// starting says what the start is about.
func (s *supervisor) starting() { s.tell("STATUS=compiling modules and checking the database") }

// ready says that every handler claims rows.
func (s *supervisor) ready() { s.tell(daemon.SdNotifyReady) }

// reloading says that inbox.toml is read anew.
func (s *supervisor) reloading() {
	s.tell(daemon.SdNotifyReloading, strings.TrimSpace(daemon.SdNotifyMonotonicUsec()))
}

// reloaded says that a reload is over. What was refused stands in the status until one works.
func (s *supervisor) reloaded(err error) {
	s.mu.Lock()
	s.refused = ""
	if err != nil {
		s.refused, _, _ = strings.Cut(err.Error(), "\n")
	}
	s.mu.Unlock()
	s.tell(daemon.SdNotifyReady)
}

// stopping says that the service drains, and asks for the time that this may take.
func (s *supervisor) stopping(drain time.Duration) {
	s.tell(daemon.SdNotifyStopping, fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", (drain+afterDrain).Microseconds()), "STATUS=draining")
}

// watch gives signs of life while the service has any, keeps the status up to date, and says when stop ends. It goes on
// until end is called. A service that is not ready is alive: only where its threads are stuck a new start mends anything.
func (s *supervisor) watch(stop context.Context, drain time.Duration, service *host.Service) (end func()) {
	ended := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		every := statusEvery
		if s.watchdog > 0 {
			every = min(every, s.watchdog/3)
		}
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		stopping := stop.Done()
		for {
			if s.watchdog > 0 && !service.Stuck() {
				s.tell(daemon.SdNotifyWatchdog)
			}
			if stopping != nil {
				s.show(statusOf(service.Unready()))
			}
			select {
			case <-ended:
				return
			case <-stopping:
				stopping = nil
				s.stopping(drain)
			case <-ticker.C:
			}
		}
	})
	return func() {
		close(ended)
		watching.Wait()
	}
}

// statusOf is what keeps a service from being ready, on one line.
func statusOf(reasons []host.Reason) string {
	if len(reasons) == 0 {
		return "every handler is ready"
	}
	list := make([]string, len(reasons))
	for i, r := range reasons {
		list[i] = r.String()
	}
	return "not ready: " + strings.Join(list, "; ")
}

// show sends a status that differs from the last one.
func (s *supervisor) show(status string) {
	s.mu.Lock()
	if s.refused != "" {
		status += "; the last reload was refused: " + s.refused
	}
	same := status == s.said
	s.said = status
	s.mu.Unlock()
	if !same {
		s.tell("STATUS=" + status)
	}
}
