package relay

// Watch calls f as Options.OnStalled is called, in addition to it: for users who share a
// relay that another one has acquired. If the relay is stalled already, Watch calls f
// before it returns. f must not block, and must call neither Watch nor stop. After stop
// has returned f is not called again; later calls of stop do nothing.
func (r *Relay) Watch(f func(error)) (stop func()) {
	s := r.stall
	s.reports.Lock()
	defer s.reports.Unlock()
	if s.watchers == nil {
		s.watchers = make(map[*func(error)]bool)
	}
	s.watchers[&f] = true
	if err := s.reason(); err != nil {
		f(err)
	}
	return func() {
		s.reports.Lock()
		defer s.reports.Unlock()
		delete(s.watchers, &f)
	}
}

// tell calls the hooks. The caller holds reports.
func (s *stall) tell(err error) {
	s.o.OnStalled(err)
	for f := range s.watchers {
		(*f)(err)
	}
}
