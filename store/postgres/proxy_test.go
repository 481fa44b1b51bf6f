package postgres_test

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// proxy stands between a store and the server, and can lose what they say.
type proxy struct {
	listener net.Listener
	server   string

	mu       sync.Mutex
	conns    []net.Conn
	lines    []*line
	swallow  []byte // what the client says from here on is lost, with all that follows
	deaf     bool   // what the server says is lost
	swallows chan struct{}
	sent     atomic.Int64 // packets of clients
	wait     sync.WaitGroup
}

// newProxy returns a proxy, and dsn through it. It ends with the test.
func newProxy(t *testing.T, dsn string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, server: u.Host, swallows: make(chan struct{}, 100)}
	u.Host = l.Addr().String()
	p.wait.Go(p.accept)
	t.Cleanup(p.close)
	return p, u.String()
}

func (p *proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.wait.Wait()
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		l := &line{p: p}
		p.mu.Lock()
		p.conns, p.lines = append(p.conns, client, server), append(p.lines, l)
		p.mu.Unlock()
		p.wait.Go(func() { l.copy(server, client, l.fromClient) })
		p.wait.Go(func() { l.copy(client, server, l.fromServer) })
	}
}

// lose loses everything from the next client's word what on, on that connection.
func (p *proxy) lose(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.swallow = []byte(what)
}

// loseAnswers loses the answer to the next client's word what, and all that follow.
func (p *proxy) loseAnswers(what string) {
	p.lose(what)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deaf = true
}

// cut loses everything on the connections that there are now.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.lines {
		l.mu.Lock()
		l.noWord, l.noReply = true, true
		l.mu.Unlock()
	}
}

// line is one connection through the proxy.
type line struct {
	p               *proxy
	mu              sync.Mutex
	noWord, noReply bool
}

func (l *line) fromClient(b []byte) bool {
	l.p.sent.Add(1)
	l.p.mu.Lock()
	hit := l.p.swallow != nil && bytes.Contains(bytes.ToUpper(b), l.p.swallow)
	deaf := l.p.deaf
	if hit {
		l.p.swallow = nil
	}
	l.p.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if hit {
		l.noReply, l.noWord = true, !deaf
		l.p.swallows <- struct{}{}
	}
	return !l.noWord
}

func (l *line) fromServer([]byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.noReply
}

// copy passes on what pass lets through. A lost connection stays open, as a cut
// one does.
func (l *line) copy(to io.WriteCloser, from io.Reader, pass func([]byte) bool) {
	defer func() { _ = to.Close() }()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && pass(buf[:n]) {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
