package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headrace/headrace/broker/internal/flow"
	"github.com/headrace/headrace/consumer"
)

var (
	errNoTable  = errors.New("there is no table headrace_queue in option Schema")
	errReadOnly = errors.New("the database is read-only: messages cannot be taken or settled")
	errRights   = errors.New("the role may not SELECT, UPDATE and DELETE the rows of headrace_queue")
)

// Healthy implements consumer.HealthReporter: messages can be taken and settled. The
// database is asked unless it has answered a read within the last two seconds.
func (s *Source) Healthy(ctx context.Context, topic string) error { return s.subs.Healthy(ctx, topic) }

// Healthy implements flow.Reporter.
func (b *subscription) Healthy(ctx context.Context) error {
	if failed := b.unsaved.Load(); failed != nil {
		if err := b.able(ctx); err != nil {
			return err
		}
		b.unsaved.CompareAndSwap(failed, nil)
	}
	if b.paused.Load() || b.holding() >= b.o.Window || b.bytes.Room() == 0 { // nothing is taken
		return b.able(ctx)
	}
	return b.health.Err(ctx, b.able)
}

// able asks the database whether messages can be taken and settled.
func (b *subscription) able(ctx context.Context) error {
	type answer struct{ writes, may bool }
	a, err := ask(ctx, b.ask, initTime, func(ctx context.Context, conn *sql.Conn) (a answer, err error) {
		err = conn.QueryRowContext(ctx, b.all.get("able"), b.o.Schema).Scan(&a.writes, &a.may)
		return a, err
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return errNoTable
	case err != nil:
		return fmt.Errorf("ask the database: %w", err)
	case !a.writes:
		return errReadOnly
	case !a.may:
		return errRights
	}
	return nil
}

// cannotServe are PostgreSQL's codes of a server that is there and cannot serve now, beside
// class 08: it starts, stops, is a standby, or has no connection left.
var cannotServe = []string{"57P01", "57P02", "57P03", "53300", "25006"}

// reach makes err match consumer.ErrUnavailable if the database is away, does not answer, or
// cannot serve now.
func reach(err error) error {
	var state interface{ SQLState() string }
	code := ""
	if errors.As(err, &state) {
		code = state.SQLState()
	}
	if errors.Is(err, errSilent) || errors.Is(err, driver.ErrBadConn) || flow.Unavailable(err) ||
		strings.HasPrefix(code, "08") || slices.Contains(cannotServe, code) {
		return fmt.Errorf("%w: %w", consumer.ErrUnavailable, err)
	}
	return err
}
