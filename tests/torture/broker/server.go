package broker

import (
	"fmt"
	"net"
	"slices"
	"sync"
)

// Events tell what happens at a Server. They are called one at a time for each
// message, before a client is answered.
type Events struct {
	Acked     func(m Message)
	Nacked    func(m Message)
	Expired   func(m Message) // its session ended
	Published func(m Message)
	Given     func(m Message)
	// Silent: a session ended although its connection was there.
	Silent func()
}

// Server is a broker. It is safe for concurrent use.
type Server struct {
	listener net.Listener
	events   Events
	wait     sync.WaitGroup

	mu     sync.Mutex
	n      int64
	most   int // unacknowledged at one session
	topics map[string]*topic
	conns  map[net.Conn]bool
	closed bool
}

type topic struct {
	queue    []Message // by N
	sessions []*session
	owners   map[string]*session
	turn     int
	given    func(Message)
}

type session struct {
	wire   *wire
	topic  *topic
	window int
	hand   map[int64]Message
	out    chan Message
	ended  chan struct{}
}

// Listen starts a broker on a free port of the loopback.
func Listen(events Events) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("broker: %w", err)
	}
	s := &Server{listener: l, events: events, topics: make(map[string]*topic), conns: make(map[net.Conn]bool)}
	s.wait.Go(s.accept)
	return s, nil
}

// Addr is where clients dial.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Close ends every session and waits for them.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	for c := range s.conns {
		_ = c.Close()
	}
	s.mu.Unlock()
	_ = s.listener.Close()
	s.wait.Wait()
}

// Send takes messages in, in this order.
func (s *Server) Send(messages ...Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range messages {
		s.n++
		m.N = s.n
		t := s.topic(m.Topic)
		t.queue = append(t.queue, m)
	}
	for _, t := range s.topics {
		t.dispatch()
	}
}

// Pending is how many messages are not acknowledged.
func (s *Server) Pending() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.topics {
		n += len(t.queue)
		for _, c := range t.sessions {
			n += len(c.hand)
		}
	}
	return n
}

// Most is the largest number of messages that one session held at a time.
func (s *Server) Most() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

func (s *Server) topic(name string) *topic {
	t := s.topics[name]
	if t == nil {
		t = &topic{owners: make(map[string]*session), given: s.events.Given}
		s.topics[name] = t
	}
	return t
}

// dispatch gives messages to sessions that have room.
func (t *topic) dispatch() {
	if len(t.sessions) == 0 {
		return
	}
	kept := t.queue[:0]
	full := make(map[string]bool) // keys whose session has no room: the later ones wait too
	for _, m := range t.queue {
		c := t.choose(m.Key)
		if c == nil || full[m.Key] {
			full[m.Key] = m.Key != ""
			kept = append(kept, m)
			continue
		}
		c.hand[m.N] = m
		t.given(m)
		c.out <- m // has room for the window
	}
	t.queue = kept
}

// choose returns the session for a message of key, or nil where none has room.
func (t *topic) choose(key string) *session {
	if key != "" {
		c := t.owners[key]
		if c == nil {
			t.turn++
			c = t.sessions[t.turn%len(t.sessions)]
			t.owners[key] = c
		}
		if len(c.hand) >= c.window {
			return nil
		}
		return c
	}
	for range t.sessions {
		t.turn++
		if c := t.sessions[t.turn%len(t.sessions)]; len(c.hand) < c.window {
			return c
		}
	}
	return nil
}

// back returns messages to the queue.
func (t *topic) back(messages ...Message) {
	t.queue = append(t.queue, messages...)
	slices.SortFunc(t.queue, func(a, b Message) int { return int(a.N - b.N) })
}
