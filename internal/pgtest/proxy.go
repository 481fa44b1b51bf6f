package pgtest

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// Proxy stands between a client and the server as a network that can swallow packets:
// while it is frozen nothing arrives either way and nothing is refused or reset. What
// was sent meanwhile arrives after the thaw, as TCP sends it again. Its methods may be
// called concurrently.
type Proxy struct {
	listener net.Listener
	server   string
	wait     sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
	open  chan struct{} // closed while packets pass
	ended bool
	cut   bool
}

// NewProxy returns a proxy to the server of dsn, and dsn through it. It ends, frozen
// or not, with the test: call it before what is to end first.
func NewProxy(tb testing.TB, dsn string) (p *Proxy, through string) {
	tb.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		tb.Fatalf("pgtest: the DSN must be a URL: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("pgtest: proxy: %v", err)
	}
	p = &Proxy{listener: l, server: u.Host, open: make(chan struct{})}
	close(p.open)
	p.wait.Go(p.accept)
	tb.Cleanup(p.end)
	u.Host = l.Addr().String()
	return p, u.String()
}

// Freeze lets nothing pass any more, on new connections neither.
func (p *Proxy) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.open:
		p.open = make(chan struct{})
	default:
	}
}

// Thaw lets everything pass again.
func (p *Proxy) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.open:
	default:
		close(p.open)
	}
}

// Cut ends all connections, and new ones at once.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

// Mend ends Cut.
func (p *Proxy) Mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = false
}

func (p *Proxy) end() {
	_ = p.listener.Close()
	p.Thaw()
	p.mu.Lock()
	p.ended = true
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.wait.Wait()
}

// pass waits until packets pass.
func (p *Proxy) pass() {
	p.mu.Lock()
	open := p.open
	p.mu.Unlock()
	<-open
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := p.dial()
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		if p.ended || p.cut {
			_, _ = client.Close(), server.Close()
		}
		p.mu.Unlock()
		p.wait.Go(func() { p.copy(server, client) })
		p.wait.Go(func() { p.copy(client, server) })
	}
}

// dial connects to the server, which has a process for each connection: there is none while the network is cut.
func (p *Proxy) dial() (net.Conn, error) {
	p.mu.Lock()
	cut := p.cut
	p.mu.Unlock()
	if cut {
		return nil, net.ErrClosed
	}
	return net.Dial("tcp", p.server)
}

// copy passes on what it reads, and the end of it.
func (p *Proxy) copy(to io.WriteCloser, from io.Reader) {
	defer func() { p.pass(); _ = to.Close() }()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		p.pass()
		if _, failed := to.Write(buf[:n]); failed != nil || err != nil {
			return
		}
	}
}
