package outbox

// Signal wakes one waiter, and is remembered until it waits. It is safe for
// concurrent use and never blocks the one who wakes.
type Signal struct{ c chan struct{} }

// NewSignal returns a signal that nobody has given yet.
func NewSignal() *Signal { return &Signal{c: make(chan struct{}, 1)} }

// Wake gives the signal; giving it again before it was received changes nothing.
func (s *Signal) Wake() {
	select {
	case s.c <- struct{}{}:
	default:
	}
}

// C is received from by the one who waits.
func (s *Signal) C() <-chan struct{} { return s.c }
