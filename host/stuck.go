package host

// Stuck reports whether every thread of some handler is in a call that should have ended long ago, which only a new
// process mends. While the database does not answer it reports nothing: calls wait for it as well, and it is waited for.
func (s *Service) Stuck() bool {
	now := elapsed()
	_, unanswered := s.unanswered.get()
	if phase(s.phase.Load()) != serving || unanswered || s.asking.lasts(now) > hangsAfter {
		return false
	}
	for _, sub := range s.subscriptions() {
		ready, _ := sub.queue.instances()
		if stuck := sub.vitals.stuck(now); stuck > 0 && stuck >= ready {
			return true
		}
	}
	return false
}
