package brokertest

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// meter is a proxy before a server that counts the bytes from it.
type meter struct {
	addr    string // of the server
	listen  net.Listener
	came    atomic.Int64 // bytes
	running sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
}

// meter starts a meter before the broker, until the test ends.
func (s *bundle) meter() *meter {
	s.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.Fatalf("meter: %v", err)
	}
	return through(s, s.b.Addr(), l)
}

// through has the connections that l accepts go to addr, until the test ends.
func through(t testing.TB, addr string, l net.Listener) *meter {
	m := &meter{addr: addr, listen: l}
	m.running.Go(m.accept)
	t.Cleanup(m.close)
	return m
}

func (m *meter) close() {
	_ = m.listen.Close()
	m.mu.Lock()
	for _, c := range m.conns {
		_ = c.Close()
	}
	m.mu.Unlock()
	m.running.Wait()
}

func (m *meter) accept() {
	for {
		client, err := m.listen.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", m.addr)
		if err != nil {
			_ = client.Close()
			continue
		}
		m.mu.Lock()
		m.conns = append(m.conns, client, server)
		m.mu.Unlock()
		m.running.Go(func() { forward(server, client) })
		m.running.Go(func() { forward(client, io.TeeReader(server, m)) })
	}
}

// forward closes both connections when the first ends, so that neither waits for the
// other.
func forward(to net.Conn, from io.Reader) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
}

// Write implements io.Writer: it counts the bytes.
func (m *meter) Write(b []byte) (int, error) {
	m.came.Add(int64(len(b)))
	return len(b), nil
}
