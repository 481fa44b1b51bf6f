package broker

import (
	"errors"
	"net"
	"os"
	"slices"
	"time"
)

func (s *Server) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[c] = true
		if s.closed {
			_ = c.Close()
		}
		s.mu.Unlock()
		s.wait.Go(func() {
			s.serve(newWire(c))
			_ = c.Close()
			s.mu.Lock()
			delete(s.conns, c)
			s.mu.Unlock()
		})
	}
}

// serve answers one connection until it ends.
func (s *Server) serve(w *wire) {
	for {
		f, err := w.receive(0)
		if err != nil {
			return
		}
		switch f.Op {
		case "sub":
			s.session(w, f)
			return
		case "pub":
			s.mu.Lock()
			for _, m := range f.Messages {
				s.n++
				m.N, m.Topic = s.n, f.Topic
				s.events.Published(m)
			}
			s.mu.Unlock()
			if w.send(frame{Op: "done"}) != nil {
				return
			}
		}
	}
}

// session serves a subscription until its connection ends or falls silent.
func (s *Server) session(w *wire, f frame) {
	c := &session{
		wire: w, window: f.Window, hand: make(map[int64]Message),
		out: make(chan Message, f.Window), ended: make(chan struct{}),
	}
	s.mu.Lock()
	c.topic = s.topic(f.Topic)
	c.topic.sessions = append(c.topic.sessions, c)
	c.topic.dispatch()
	s.mu.Unlock()
	s.wait.Go(c.write)
	for {
		f, err := w.receive(SessionTimeout)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			s.events.Silent()
		}
		if err != nil {
			break
		}
		s.settle(c, f)
	}
	s.end(c)
}

func (c *session) write() {
	for {
		select {
		case m := <-c.out:
			if c.wire.send(frame{Op: "msg", Messages: []Message{m}}) != nil {
				_ = c.wire.conn.Close()
				return
			}
		case <-c.ended:
			return
		}
	}
}

// settle takes an answer to a message.
func (s *Server) settle(c *session, f frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, held := c.hand[f.N]
	if !held {
		return
	}
	s.most = max(s.most, len(c.hand))
	switch f.Op {
	case "ack":
		s.events.Acked(m)
		delete(c.hand, f.N)
	case "nack":
		s.events.Nacked(m)
		delete(c.hand, f.N)
		c.topic.back(m)
		if m.Key == "" { // a little later, as brokers do
			time.AfterFunc(5*time.Millisecond, func() { s.Send() })
			return
		}
	}
	c.topic.dispatch()
}

// end gives what a session had in hand to others.
func (s *Server) end(c *session) {
	_ = c.wire.conn.(*net.TCPConn).SetLinger(0)
	_ = c.wire.conn.Close()
	close(c.ended)
	s.mu.Lock()
	defer s.mu.Unlock()
	t := c.topic
	t.sessions = slices.DeleteFunc(t.sessions, func(o *session) bool { return o == c })
	for key, owner := range t.owners {
		if owner == c {
			delete(t.owners, key)
		}
	}
	for _, m := range c.hand {
		s.events.Expired(m)
		t.back(m)
	}
	clear(c.hand)
	t.dispatch()
}
