package amqp

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/headrace/headrace/broker/internal/flow"
)

// link is a connection that is made when it is needed. It is safe for concurrent use.
type link struct {
	server Server
	life   context.Context // ends with close
	end    context.CancelFunc
	owned  sync.WaitGroup
	// blocked is why the broker accepts no messages; nil while it does.
	blocked atomic.Pointer[string]

	mu   sync.Mutex
	dial *dial // the last one; nil before the first
	lost bool  // lost and not yet restored, which was logged
}

// dial is an attempt to connect. Its result is final when done is closed.
type dial struct {
	done   chan struct{}
	conn   *amqp091.Connection
	socket net.Conn // beneath conn
	err    error
}

func newLink(s Server) *link {
	l := &link{server: s}
	l.life, l.end = context.WithCancel(context.Background())
	return l
}

// get returns the connection, and makes one if there is none. Concurrent calls share one
// attempt.
func (l *link) get(ctx context.Context) (*amqp091.Connection, error) {
	d, err := l.current()
	if err != nil {
		return nil, err
	}
	select {
	case <-d.done:
		return d.conn, d.err
	case <-ctx.Done():
		return nil, fmt.Errorf("connect to the broker of option Server.URL: %w", context.Cause(ctx))
	}
}

// within calls f with a channel of its own, and returns when f or ctx ends. The client has
// no time limit for the broker's answers: f may run for as long as the connection lasts.
func (l *link) within(ctx context.Context, conn *amqp091.Connection, f func(*amqp091.Channel) error) error {
	done := make(chan error, 1)
	ask := func() error {
		ch, err := conn.Channel()
		if err != nil {
			return fmt.Errorf("open a channel: %w", err)
		}
		err = f(ch)
		if !ch.IsClosed() {
			_ = ch.Close() // an error says that it is closed
		}
		return err
	}
	l.mu.Lock()
	if l.life.Err() != nil {
		l.mu.Unlock()
		return ErrClosed
	}
	l.owned.Go(func() { done <- ask() })
	l.mu.Unlock()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("ask the broker of option Server.URL: %w", context.Cause(ctx))
	}
}

// accepts returns ErrBlocked while the broker accepts no messages.
func (l *link) accepts() error {
	if l.blocked.Load() != nil {
		return ErrBlocked
	}
	return nil
}

// current returns the attempt under way, the one with the connection, or a new one.
func (l *link) current() (*dial, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.life.Err() != nil {
		return nil, ErrClosed
	}
	if d := l.dial; d != nil {
		select {
		case <-d.done:
			if d.err == nil && !d.conn.IsClosed() {
				return d, nil
			}
		default:
			return d, nil
		}
	}
	d := &dial{done: make(chan struct{})}
	l.dial = d
	l.owned.Go(func() { l.run(d) })
	return d, nil
}

func (l *link) run(d *dial) {
	defer close(d.done)
	d.err = l.connect(d)
	if l.life.Err() != nil { // close has looked already, or waits for this
		if d.err == nil {
			d.hangUp()
		}
		d.conn, d.err = nil, ErrClosed
		return
	}
	l.report(d.err)
	if d.err == nil {
		l.watch(d.conn)
	}
}

// report logs an outage when it begins and when it ends.
func (l *link) report(err error) {
	l.mu.Lock()
	was := l.lost
	l.lost = err != nil
	l.mu.Unlock()
	switch {
	case err != nil && !was:
		l.server.Logger.Warn("amqp: no connection to the broker; it is tried again", "name", l.server.Name, "error", err)
	case err == nil && was:
		l.server.Logger.Info("amqp: the connection to the broker is there again", "name", l.server.Name)
	}
}

// watch logs the end of conn, and records meanwhile whether the broker blocks it.
func (l *link) watch(conn *amqp091.Connection) {
	closed := conn.NotifyClose(make(chan *amqp091.Error, 1))
	blocked := conn.NotifyBlocked(make(chan amqp091.Blocking, 1))
	l.blocked.Store(nil)
	l.owned.Go(func() {
		var said *string
		for b := range blocked { // closed with the connection
			said = nil
			if b.Active {
				said = &b.Reason
			}
			l.blocked.Store(said)
		}
		if said != nil {
			l.blocked.CompareAndSwap(said, nil)
		}
		if err := <-closed; err != nil && l.life.Err() == nil {
			l.report(err)
		}
	})
}

func (l *link) connect(d *dial) error {
	properties := amqp091.NewConnectionProperties()
	properties.SetClientConnectionName(l.server.Name)
	target, secure := l.server.target()
	conn, err := amqp091.DialConfig(target, amqp091.Config{
		Heartbeat: l.server.Heartbeat, Properties: properties, Locale: "en_US",
		Dial: func(network, addr string) (socket net.Conn, err error) {
			d.socket, err = l.open(network, addr, secure)
			return d.socket, err
		},
	})
	if err != nil {
		return fmt.Errorf("connect to the broker of option Server.URL: %w", flow.WithoutURL(err))
	}
	d.conn = conn
	return nil
}

// open opens the socket, with TLS if secure is not nil. The client clears its deadline
// after the handshake.
func (l *link) open(network, addr string, secure *tls.Config) (net.Conn, error) {
	dialer := net.Dialer{Timeout: l.server.Timeout}
	socket, err := dialer.DialContext(l.life, network, addr)
	if err != nil {
		return nil, err
	}
	if err := socket.SetDeadline(time.Now().Add(l.server.Timeout)); err != nil {
		_ = socket.Close()
		return nil, err
	}
	conn := net.Conn(&bounded{Conn: socket, timeout: l.server.Timeout})
	if secure != nil {
		client := tls.Client(conn, secure)
		if err := client.HandshakeContext(l.life); err != nil {
			_ = socket.Close()
			return nil, err
		}
		conn = client
	}
	return newGuard(conn), nil
}

// bounded ends a write if the peer does not read: the client sets no deadline for writes,
// so that Publish would wait as long as the broker is short of memory.
type bounded struct {
	net.Conn
	timeout time.Duration
}

// Write implements net.Conn.
func (b *bounded) Write(p []byte) (int, error) {
	if err := b.SetWriteDeadline(time.Now().Add(b.timeout)); err != nil {
		return 0, err
	}
	return b.Conn.Write(p)
}

// close ends the connection and waits for the link's goroutines.
func (l *link) close() {
	l.mu.Lock()
	l.end()
	d := l.dial
	l.mu.Unlock()
	if d != nil {
		<-d.done
		if d.err == nil {
			d.hangUp()
		}
	}
	l.owned.Wait()
}

// goodbye bounds the handshake that ends a connection.
const goodbye = 2 * time.Second

// hangUp closes the connection. A broker that is short of memory or disk does not answer,
// and its heartbeats extend the client's own deadline; then hangUp closes the socket. An
// error means that the broker does not know of the close, which does not matter.
func (d *dial) hangUp() {
	timer := time.AfterFunc(goodbye, func() { _ = d.socket.Close() })
	defer timer.Stop()
	_ = d.conn.CloseDeadline(time.Now().Add(goodbye))
}
