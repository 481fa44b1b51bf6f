package cluster

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// Proxy stands before a server. It passes everything on, but can swallow the answer to a
// COMMIT: the server has it, and the client loses its connection. It is safe for
// concurrent use.
type Proxy struct {
	listener net.Listener
	server   atomic.Pointer[string]
	swallow  atomic.Int64
	done     atomic.Int64
	wait     sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
	ended bool
}

// NewProxy starts a proxy to the server at addr.
func NewProxy(addr string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, conns: make(map[net.Conn]bool)}
	p.server.Store(&addr)
	p.wait.Go(p.accept)
	return p, nil
}

// Addr is where the proxy listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// To sends new connections to another server, and cuts the old ones.
func (p *Proxy) To(addr string) {
	p.server.Store(&addr)
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// Swallow swallows the answers to the next n COMMITs.
func (p *Proxy) Swallow(n int) { p.swallow.Store(int64(n)) }

// Swallowed is how many answers it has swallowed so far.
func (p *Proxy) Swallowed() int { return int(p.done.Load()) }

// Close ends every connection.
func (p *Proxy) Close() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.ended = true
	for c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.wait.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wait.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.conns[c] = true
	}
	return !p.ended
}

func (p *Proxy) forget(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.conns, c)
		_ = c.Close()
	}
}

func (p *Proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", *p.server.Load())
	if err != nil {
		_ = client.Close()
		return
	}
	defer p.forget(client, server)
	if !p.keep(client, server) {
		return
	}
	var committing atomic.Bool
	p.wait.Go(func() {
		defer func() { _, _ = client.Close(), server.Close() }()
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			if committing.Load() {
				p.done.Add(1) // the server has answered, and the answer is lost
				return
			}
			if n > 0 {
				if _, err := client.Write(buf[:n]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	})
	_ = p.requests(client, server, &committing)
}

// requests passes the client's messages on, one by one, and looks for COMMIT.
func (p *Proxy) requests(client io.Reader, server io.Writer, committing *atomic.Bool) error {
	for first := true; ; first = false {
		head := make([]byte, 5)
		if first {
			head = head[:4] // the startup message has no type
		}
		if _, err := io.ReadFull(client, head); err != nil {
			return err
		}
		size := int64(binary.BigEndian.Uint32(head[len(head)-4:])) - 4
		body := new(bytes.Buffer)
		if _, err := io.CopyN(body, client, size); err != nil {
			return err
		}
		if !first && head[0] == 'Q' && bytes.HasSuffix(bytes.ToUpper(bytes.TrimRight(body.Bytes(), "\x00; \n")), []byte("COMMIT")) && p.swallow.Add(-1) >= 0 {
			committing.Store(true)
		}
		if _, err := server.Write(append(head, body.Bytes()...)); err != nil {
			return err
		}
	}
}
