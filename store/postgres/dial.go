package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/lib/pq"
)

// connector makes lib/pq's connections and knows the network connection under each,
// so that one on which a COMMIT hangs can be cut.
type connector struct {
	*pq.Connector
	dialer dialer
	links  sync.Map // driver.Conn → *link
}

// errDSN says nothing about what is wrong: the parts of a DSN that a parser stumbles
// over are often those of a password.
var errDSN = errors.New("postgres: the DSN cannot be read: give postgres://user@host:5432/database?sslmode=… or key=value pairs, with a port from 1 to 65535 and values that PostgreSQL knows (not shown: it may hold a password)")

func newConnector(dsn string, o Options) (*connector, error) {
	cfg, err := pq.NewConfig(dsn)
	if err != nil {
		return nil, errDSN
	}
	if o.ConnectTimeout > 0 {
		cfg.ConnectTimeout = o.ConnectTimeout
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = defaultConnectTimeout
	}
	base, err := pq.NewConnectorConfig(cfg)
	if err != nil {
		return nil, errDSN
	}
	c := &connector{Connector: base, dialer: newDialer(o.TCPUserTimeout)}
	base.Dialer(c.dialer)
	return c, nil
}

// Connect implements driver.Connector. Unlike lib/pq's it heeds ctx during the
// handshake too.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	made := new(made)
	stop := context.AfterFunc(ctx, made.cut)
	conn, err := c.Connector.Connect(context.WithValue(ctx, madeKey{}, made))
	if !stop() && err == nil {
		_ = conn.Close()
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	l := made.newest()
	if l == nil {
		return conn, nil
	}
	c.links.Store(conn, l)
	l.onClose(func() { c.links.Delete(conn) })
	return conn, nil
}

// kill returns what cuts the connection, for txn.Options.Kill.
func (c *connector) kill(conn *sql.Conn) func() {
	var cut func()
	_ = conn.Raw(func(driverConn any) error {
		if l, ok := c.links.Load(driverConn); ok {
			cut = l.(*link).cut
		}
		return nil
	})
	return cut
}

// made collects the network connections of one Connect: lib/pq may dial several
// hosts, or one host again with another sslmode.
type made struct {
	mu    sync.Mutex
	links []*link
	over  bool
}

type madeKey struct{}

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

func (m *made) newest() *link {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.links) == 0 {
		return nil
	}
	return m.links[len(m.links)-1]
}

// link is a network connection that says when it is closed.
type link struct {
	net.Conn
	mu     sync.Mutex
	closed bool
	then   func()
}

// Close implements net.Conn.
func (l *link) Close() error {
	l.mu.Lock()
	then := l.then
	l.closed, l.then = true, nil
	l.mu.Unlock()
	if then != nil {
		then()
	}
	return l.Conn.Close()
}

// cut ends every read and write on the connection, whoever waits in it.
func (l *link) cut() { _ = l.Close() }

// onClose has f called when the connection is closed, or now if it is.
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

// dialer is lib/pq's, with timeouts below it: the driver itself waits without end.
type dialer struct{ net.Dialer }

func newDialer(userTimeout time.Duration) dialer {
	// Probes start early enough for the last of them to fail within the timeout.
	const probes = 3
	wait := max(userTimeout/(2*probes), time.Second)
	return dialer{net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: max(userTimeout/2, time.Second), Interval: wait, Count: probes},
		Control:         control(userTimeout),
	}}
}

// DialContext implements pq.DialerContext.
func (d dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.Dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	l := &link{Conn: conn}
	if m, ok := ctx.Value(madeKey{}).(*made); ok {
		m.add(l)
	}
	return l, nil
}

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
