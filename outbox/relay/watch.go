package relay

// watcher is one who is told when the relay stalls and when it goes on.
type watcher struct{ f func(error) }

// Watch has f told what Options.OnStalled is told, beside it: for those who share a
// relay that another one has acquired. Where the relay is stalled at present, f is
// told so before Watch returns. f must not block, nor call Watch or stop. After stop
// has returned f is not called any more; later calls of it do nothing.
func (r *Relay) Watch(f func(error)) (stop func()) {
	s := r.stall
	w := &watcher{f}
	s.reports.Lock()
	defer s.reports.Unlock()
	if s.watchers == nil {
		s.watchers = make(map[*watcher]bool)
	}
	s.watchers[w] = true
	if err := s.reason(); err != nil {
		f(err)
	}
	return func() {
		s.reports.Lock()
		defer s.reports.Unlock()
		delete(s.watchers, w)
	}
}

// tell is called with reports held.
func (s *stall) tell(err error) {
	s.o.OnStalled(err)
	for w := range s.watchers {
		w.f(err)
	}
}
