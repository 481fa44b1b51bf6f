package checker

import (
	"context"
	"database/sql"
	"time"
)

// Probe asks the database under test while it works. Its methods return an error where
// the database does not answer; then nothing is known.
type Probe struct {
	Kind string
	DB   *sql.DB
}

// Torn is how many messages have an effect without a record or the other way round, in
// one snapshot (invariant 3).
func (p Probe) Torn(ctx context.Context) (n int, err error) {
	err = p.DB.QueryRowContext(ctx, exports["probe_atomic"]).Scan(&n)
	return n, err
}

// Known reports whether a message that the source was told of has a record (invariant 5).
func (p Probe) Known(ctx context.Context, id string) (bool, error) {
	n := 0
	err := p.DB.QueryRowContext(ctx, exports["probe_known"], id).Scan(&n)
	return n > 0, err
}

// Waiting is how many rows the backlog and the outbox hold.
func (p Probe) Waiting(ctx context.Context) (n int, err error) {
	err = p.DB.QueryRowContext(ctx, exports["probe_waiting"]).Scan(&n)
	return n, err
}

// Sessions is how many connections the children have, and the age of their oldest
// transaction (invariant 18). SQLite has none.
func (p Probe) Sessions(ctx context.Context) (n int, oldest time.Duration, err error) {
	if p.Kind == "sqlite" {
		return 0, 0, nil
	}
	seconds := 0.0
	err = p.DB.QueryRowContext(ctx, statements("postgres")["sessions"]).Scan(&n, &seconds)
	return n, time.Duration(seconds * float64(time.Second)), err
}

// Age moves the record of a message two days back.
func (p Probe) Age(ctx context.Context, id string) error {
	_, err := p.DB.ExecContext(ctx, statements(p.Kind)["age"], id)
	return err
}
