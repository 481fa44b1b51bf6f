package postgres

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// cancelTime is how long a statement may take to end after its context, with an error
// from the server or its last row. After that the server does not answer.
const cancelTime = 3 * time.Second

// made collects the network connections of one Connect: lib/pq may dial several
// hosts, or one host again with another sslmode.
type made struct {
	mu    sync.Mutex
	links []*link
	over  bool
	conn  *link // the one that Connect returned
}

func (m *made) add(l *link) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.links = append(m.links, l)
	if m.over {
		l.cut()
	}
}

func (m *made) cut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over = true
	for _, l := range m.links {
		l.cut()
	}
}

// finish returns the last connection. A later dial is a request to cancel a statement on
// it.
func (m *made) finish() *link {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.links); n > 0 {
		m.conn, m.links = m.links[n-1], nil
	}
	return m.conn
}

func (m *made) finished() *link {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.conn
}

// link is a network connection that knows when it is closed, and whether a call waits in
// it.
type link struct {
	net.Conn
	waiting       atomic.Int32
	reads, writes atomic.Int64

	mu     sync.Mutex
	closed bool
	then   func()
	timer  *time.Timer
}

// Read implements net.Conn.
func (l *link) Read(b []byte) (int, error) {
	l.waiting.Add(1)
	n, err := l.Conn.Read(b)
	l.reads.Add(1)
	l.waiting.Add(-1)
	return n, err
}

// Write implements net.Conn.
func (l *link) Write(b []byte) (int, error) {
	l.writes.Add(1)
	l.waiting.Add(1)
	defer l.waiting.Add(-1)
	return l.Conn.Write(b)
}

// Close implements net.Conn. A second call does nothing.
func (l *link) Close() error {
	l.mu.Lock()
	closed, then := l.closed, l.then
	l.closed, l.then = true, nil
	if l.timer != nil {
		l.timer.Stop()
	}
	l.mu.Unlock()
	if closed {
		return nil
	}
	if then != nil {
		then()
	}
	return l.Conn.Close()
}

// cut ends every read and write on the connection.
func (l *link) cut() { _ = l.Close() }

// onClose calls f when the connection is closed, or now if it is already.
func (l *link) onClose(f func()) {
	l.mu.Lock()
	closed := l.closed
	if !closed {
		l.then = f
	}
	l.mu.Unlock()
	if closed {
		f()
	}
}

// hurry cuts the connection if a call still waits in it after cancelTime and has received
// nothing. lib/pq asks the server to cancel a statement whose context has ended and then
// waits for the answer, without a bound.
func (l *link) hurry() {
	reads, writes := l.reads.Load(), l.writes.Load()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	if l.timer != nil {
		l.timer.Stop()
	}
	l.timer = time.AfterFunc(cancelTime, func() {
		switch {
		case l.waiting.Load() == 0: // the statement has ended
		case l.reads.Load() == reads:
			l.cut()
		case l.writes.Load() == writes: // still the same statement, which is ending
			l.hurry()
		}
	})
}

// dialer dials for one connection of lib/pq.
type dialer struct {
	net.Dialer
	made *made
}

// newDialer sets timeouts below lib/pq: the driver itself waits without a bound.
func newDialer(userTimeout time.Duration) net.Dialer {
	// Probes start early enough for the last of them to fail within the timeout.
	const probes = 3
	wait := max(userTimeout/(2*probes), time.Second)
	return net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: max(userTimeout/2, time.Second), Interval: wait, Count: probes},
		Control:         control(userTimeout),
	}
}

// DialContext implements pq.DialerContext.
func (d dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if l := d.made.finished(); l != nil {
		return d.request(ctx, l, network, address)
	}
	conn, err := d.Dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	l := &link{Conn: conn}
	d.made.add(l)
	return l, nil
}

// request dials for a request to cancel the statement on l. lib/pq dials it when the
// context of a statement ends, which is the only sign of that.
func (d dialer) request(ctx context.Context, l *link, network, address string) (net.Conn, error) {
	l.hurry()
	until := time.Now().Add(cancelTime)
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	conn, err := d.Dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(until); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return hurried{conn}, nil
}

// hurried is a connection whose deadline cannot be changed: closing a prepared statement
// waits for the request to cancel it.
type hurried struct{ net.Conn }

// SetDeadline implements net.Conn.
func (hurried) SetDeadline(time.Time) error { return nil }

// Dial implements pq.Dialer.
func (d dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// DialTimeout implements pq.Dialer.
func (d dialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}
