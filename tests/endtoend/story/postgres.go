package story

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/lib/pq"

	"github.com/headrace/headrace/store/postgres"
)

func (d *database) openPostgres(ctx context.Context, dsn string) (*sql.DB, error) {
	connector, err := pq.NewConnector(dsn)
	if err != nil {
		return nil, errDSN // the parser's own error quotes what it was given
	}
	db := sql.OpenDB(connector)
	d.onClose(db.Close)
	db.SetMaxOpenConns(4)
	d.journal, d.reader, d.name = db, db.Conn, "PostgreSQL"
	d.snapshot = &sql.TxOptions{Isolation: sql.LevelRepeatableRead}
	// The schema of the DSN's search_path, so that all tables stand side by side.
	var schema sql.NullString
	if err := db.QueryRowContext(ctx, "SELECT current_schema()").Scan(&schema); err != nil {
		return nil, unreachable(err)
	}
	if !schema.Valid {
		return nil, errors.New("no schema of the DSN's search_path exists in that database")
	}
	st, err := postgres.Open(ctx, dsn, postgres.Options{Migrate: true, Schema: schema.String})
	if err != nil {
		return nil, err
	}
	d.onClose(st.Close)
	d.Store, d.Checker = st, st
	return db, nil
}

// errDSN stands for whatever a parser finds wrong.
var errDSN = errors.New("-dsn is not of the form postgres://user:password@host:port/database or \"host=… user=… password=… dbname=…\"; " +
	"in the first one, write characters like space, %, /, @ and # of the password as %20, %25, %2F, %40 and %23 (the DSN is not shown here)")

// unreachable says why PostgreSQL does not answer, in words that are none of the DSN's. Errors of drivers, networks
// and servers name hosts, ports, users and databases, and where a character of the password splits the DSN in
// another place than was meant, one of those is a part of the password.
func unreachable(err error) error {
	const hint = "PostgreSQL cannot be reached: %s; look at the host, the port, the user, the password and the database of -dsn (it is not shown here)"
	var server *pq.Error
	var lookup *net.DNSError
	var errno syscall.Errno
	var network net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("connect to PostgreSQL: %w", context.Canceled)
	case errors.As(err, &server):
		return fmt.Errorf(hint, fmt.Sprintf("it answered with %s (SQLSTATE %s)", server.Code.Name(), server.Code))
	case errors.Is(err, pq.ErrSSLNotSupported):
		return fmt.Errorf(hint, "it does not speak TLS, which sslmode=disable leaves out")
	case errors.As(err, &lookup):
		return fmt.Errorf(hint, "the host has no address")
	case errors.As(err, &errno):
		return fmt.Errorf(hint, errno.Error())
	case errors.As(err, &network) && network.Timeout():
		return fmt.Errorf(hint, "the connection timed out")
	}
	return fmt.Errorf(hint, "the connection failed")
}
