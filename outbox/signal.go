package outbox

// Signal wakes one waiter, now or when it next waits. It is safe for concurrent use, and
// Wake never blocks.
type Signal struct{ c chan struct{} }

// NewSignal returns a signal that is not set.
func NewSignal() *Signal { return &Signal{c: make(chan struct{}, 1)} }

// Wake sets the signal; if it is set already, Wake does nothing.
func (s *Signal) Wake() {
	select {
	case s.c <- struct{}{}:
	default:
	}
}

// C returns the channel that the waiter receives from.
func (s *Signal) C() <-chan struct{} { return s.c }
