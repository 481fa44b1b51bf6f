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
	errReadOnly = errors.New("the database is read-only: messages cannot be published, taken or settled")
	errRights   = errors.New("the role may not SELECT, UPDATE and DELETE the rows of headrace_queue")
	errInsert   = errors.New("the role may not INSERT rows into headrace_queue")
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
	may, err := b.ask.able(ctx, b.all, b.o.Schema)
	if err == nil && !may.take {
		return errRights
	}
	return err
}

// Healthy implements relay.HealthReporter: messages can be published.
func (s *Sink) Healthy(ctx context.Context) error {
	may, err := s.ask.able(ctx, s.all, s.schema)
	if err == nil && !may.publish {
		err = errInsert
	}
	if err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	return nil
}

// rights are what the role may do with messages.
type rights struct{ take, publish bool }

// able asks the database whether it writes, and for the rights.
func (a *asking) able(ctx context.Context, all statements, schema string) (rights, error) {
	type answer struct {
		writes bool
		rights
	}
	r, err := ask(ctx, a, initTime, func(ctx context.Context, conn *sql.Conn) (r answer, err error) {
		err = conn.QueryRowContext(ctx, all.get("able"), schema).Scan(&r.writes, &r.take, &r.publish)
		return r, err
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return rights{}, errNoTable
	case err != nil:
		return rights{}, fmt.Errorf("ask the database: %w", err)
	case !r.writes:
		return rights{}, errReadOnly
	}
	return r.rights, nil
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
