package pgtest

import (
	"context"
	_ "embed" // the statements
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lib/pq"
)

var (
	//go:embed queries/spare_table.sql
	spareTable string
	//go:embed queries/spare_take.sql
	spareTake string
	//go:embed queries/spare_give.sql
	spareGive string
	//go:embed queries/spare_old.sql
	spareOld string
	//go:embed queries/spare_sessions.sql
	spareSessions string
	//go:embed queries/spare_clean.sql
	spareClean string
	//go:embed queries/spare_print.sql
	sparePrint string
)

// Spares are schemas with the tables of headrace, which take long to make. A test gives its
// own back at its end: it is emptied, and the next test has it as if it were new, whichever
// process that runs in. One whose catalog is not as it was when it was made, because the test has added an
// index, granted a right or run ANALYZE, is dropped instead. Its methods may be called
// concurrently.
type Spares struct {
	// Kind says what Fill makes; another kind is not given out.
	Kind string
	// Fill makes what is in an empty schema.
	Fill func(dsn, schema string) error
	// Reset is run in a schema that was emptied: it writes the rows that Fill writes, and
	// mends what tests often change. {{schema}} is its name.
	Reset string
}

// New is [New] with a schema that is as Fill makes it.
func (s Spares) New(tb testing.TB) (dsn, schema string) {
	tb.Helper()
	server := serverURL(tb)
	var print string
	err := session(server.String(), func(ctx context.Context, conn *pgx.Conn) (err error) {
		schema, print, err = s.take(ctx, conn)
		if err == nil && schema == "" {
			schema = uniqueName()
			print, err = s.make(ctx, conn, within(server, schema), schema)
		}
		return err
	})
	if err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	tb.Cleanup(func() {
		if err := s.give(server.String(), schema, print); err != nil {
			tb.Fatalf("pgtest: %v", err)
		}
	})
	return within(server, schema), schema
}

// take returns a spare schema, "" if there is none.
func (s Spares) take(ctx context.Context, conn *pgx.Conn) (schema, print string, err error) {
	err = conn.QueryRow(ctx, spareTake, s.Kind).Scan(&schema, &print)
	var missing *pgconn.PgError
	if errors.Is(err, pgx.ErrNoRows) || errors.As(err, &missing) && missing.Code == "42P01" { // undefined_table
		return "", "", nil
	}
	if err != nil {
		err = fmt.Errorf("take a spare schema: %w", err)
	}
	return schema, print, err
}

func (s Spares) make(ctx context.Context, conn *pgx.Conn, dsn, schema string) (print string, err error) {
	if _, err = conn.Exec(ctx, spareTable); err == nil {
		err = dropOld(ctx, conn)
	}
	if err == nil {
		_, err = conn.Exec(ctx, named(createSchema, schema))
	}
	if err == nil {
		err = s.Fill(dsn, schema)
	}
	if err == nil {
		err = conn.QueryRow(ctx, sparePrint, schema).Scan(&print)
	}
	if err != nil {
		err = fmt.Errorf("make a schema: %w", err)
	}
	return print, err
}

// dropOld drops the spare schemas that no test has used for an hour.
func dropOld(ctx context.Context, conn *pgx.Conn) error {
	rows, err := conn.Query(ctx, spareOld)
	if err != nil {
		return err
	}
	old, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, name := range old {
		if _, err := conn.Exec(ctx, named(dropSchema, name)); err != nil {
			return err
		}
	}
	return err
}

// endSessions ends those that a test has left open in a schema. Most have gone a millisecond later; the wait of
// pg_terminate_backend itself looks ten times a second.
func endSessions(ctx context.Context, conn *pgx.Conn, schema string) error {
	for {
		var left int
		if err := conn.QueryRow(ctx, spareSessions, schema).Scan(&left); err != nil || left == 0 {
			return err
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// give empties a schema and makes it a spare one. If it is not as it was, it is dropped.
func (s Spares) give(server, schema, print string) error {
	return session(server, func(ctx context.Context, conn *pgx.Conn) error {
		var now string
		err := endSessions(ctx, conn, schema)
		if err == nil {
			_, err = conn.Exec(ctx, named(spareClean, schema))
		}
		if err == nil {
			_, err = conn.Exec(ctx, strings.ReplaceAll(s.Reset, "{{schema}}", pq.QuoteIdentifier(schema)))
		}
		if err == nil {
			err = conn.QueryRow(ctx, sparePrint, schema).Scan(&now)
		}
		if err == nil && now == print {
			_, err = conn.Exec(ctx, spareGive, schema, s.Kind, print)
			return err
		}
		// A test may have dropped or renamed any of it.
		_, err = conn.Exec(ctx, named(dropSchema, schema))
		return err
	})
}
