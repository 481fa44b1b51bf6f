package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"sync"
	"time"

	"github.com/lib/pq"
)

// connector makes lib/pq's connections and knows the network connection of each, so that
// it can cut one on which the server does not answer.
type connector struct {
	*pq.Connector // for its Driver
	cfg           pq.Config
	dialer        net.Dialer
	claim         preparedClaim // of one message; it travels with BEGIN
	begin         string
	idle          time.Duration // after that long without use BEGIN travels alone
	links         sync.Map      // driver.Conn → *link
}

// errDSN does not say which part of the DSN is wrong: often that part belongs to a
// password.
var errDSN = errors.New("postgres: the DSN cannot be read: give postgres://user@host:5432/database?sslmode=… or key=value pairs, with a port from 1 to 65535 and values that PostgreSQL knows (not shown: it may hold a password)")

// errSSLMode says which part is wrong, and not what it says.
var errSSLMode = errors.New("postgres: option sslmode of the DSN (or PGSSLMODE) has a value that lib/pq does not know: give disable for a local server without TLS, else verify-full, verify-ca or require, which encrypts without a check of the certificate; prefer and allow try both")

// sslModePair finds the option in a DSN of pairs.
var sslModePair = regexp.MustCompile(`(?:^|\s)sslmode\s*=\s*'?([^\s']*)`)

// unread returns the error of a DSN that lib/pq does not take.
func unread(dsn string) error {
	mode := os.Getenv("PGSSLMODE")
	if u, err := url.Parse(dsn); err == nil && u.Scheme != "" {
		mode = cmp.Or(u.Query().Get("sslmode"), mode)
	} else if pair := sslModePair.FindStringSubmatch(dsn); pair != nil {
		mode = pair[1]
	}
	switch pq.SSLMode(mode) {
	case "", pq.SSLModeDisable, pq.SSLModeAllow, pq.SSLModePrefer, pq.SSLModeRequire, pq.SSLModeVerifyCA, pq.SSLModeVerifyFull:
		return errDSN
	}
	return errSSLMode
}

// refusedTLS adds to the error of a connection what a person can do.
func refusedTLS(err error) error {
	if errors.Is(err, pq.ErrSSLNotSupported) {
		return fmt.Errorf("%w: set option sslmode=disable in the DSN, or have the server offer TLS", err)
	}
	return err
}

func newConnector(dsn string, o Options) (*connector, error) {
	cfg, err := pq.NewConfig(dsn)
	if err != nil {
		return nil, unread(dsn)
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
	return &connector{Connector: base, cfg: cfg, dialer: newDialer(o.TCPUserTimeout), begin: beginText, idle: idleTime}, nil
}

// Connect implements driver.Connector. Unlike lib/pq's it also observes ctx during the
// handshake.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	made := new(made)
	// Its own dialer later says which connection's statement lib/pq wants to cancel.
	own, err := pq.NewConnectorConfig(c.cfg.Clone())
	if err != nil {
		return nil, errDSN
	}
	own.Dialer(dialer{c.dialer, made})
	stop := context.AfterFunc(ctx, made.cut)
	base, err := own.Connect(ctx)
	if !stop() && err == nil {
		_ = base.Close()
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	conn := &pqConn{pqDriver: base.(pqDriver), from: c}
	l := made.finish()
	if l == nil {
		return conn, nil
	}
	c.links.Store(conn, l)
	l.onClose(func() { c.links.Delete(conn) })
	return conn, nil
}

// kill returns the function that cuts the connection, for txn.Options.Kill.
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

// cut cuts every open connection, when the store closes.
func (c *connector) cut() {
	c.links.Range(func(_, l any) bool {
		l.(*link).cut()
		return true
	})
}
