package main

import (
	"context"
	"io"
	"net"
	"net/url"
	"sync"
	"time"
)

// awayPart compares consumers with one message in flight whose server is a millisecond
// away, where the number of round trips decides, and not the processor.
func awayPart() []benchmark {
	var part []benchmark
	for _, d := range []driver{libPQ, pgx} {
		d.suffix += "_1ms"
		d.away = time.Millisecond
		part = append(part, d.named([]benchmark{
			{part: "away", name: "byhand_1", says: "by hand: one in flight, the server 1 ms away", run: runByhand(d, 1)},
			{part: "away", name: "single_1", says: "headrace: one in flight, the server 1 ms away", run: runSingle(d, 1), against: []string{"byhand_1"}, with: []string{"byhand_1"}},
		})...)
	}
	for i := range part {
		part[i].part = "away"
	}
	return part
}

// away stands between a client and the server of a DSN as a network with a round trip of
// that length: it waits half of it with everything that it has read.
type away struct {
	listener net.Listener
	server   string
	half     time.Duration
	wait     sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
	ended bool
}

// newAway returns the way to a server, and the DSN through it.
func newAway(dsn string, roundTrip time.Duration) (*away, string, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, "", err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	a := &away{listener: l, server: u.Host, half: roundTrip / 2}
	u.Host = l.Addr().String()
	a.wait.Go(a.accept)
	return a, u.String(), nil
}

// close ends all connections.
func (a *away) close() {
	_ = a.listener.Close()
	a.mu.Lock()
	a.ended = true
	for _, c := range a.conns {
		_ = c.Close()
	}
	a.mu.Unlock()
	a.wait.Wait()
}

func (a *away) accept() {
	var dialer net.Dialer
	for {
		client, err := a.listener.Accept()
		if err != nil {
			return
		}
		server, err := dialer.DialContext(context.Background(), "tcp", a.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		a.mu.Lock()
		a.conns = append(a.conns, client, server)
		if a.ended {
			_, _ = client.Close(), server.Close()
		}
		a.mu.Unlock()
		a.wait.Go(func() { a.copy(server, client) })
		a.wait.Go(func() { a.copy(client, server) })
	}
}

func (a *away) copy(to io.WriteCloser, from io.Reader) {
	defer func() { _ = to.Close() }()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		time.Sleep(a.half)
		if _, failed := to.Write(buf[:n]); failed != nil || err != nil {
			return
		}
	}
}
