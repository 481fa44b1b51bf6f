package txn

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
)

// Savepoint is a named savepoint of a transaction. Setting it again hides the earlier one
// of its name until the new one is released, or rolled back to and released.
type Savepoint struct {
	t    *Txn
	name string
}

// Savepoint returns the savepoint called name, a plain SQL identifier.
func (t *Txn) Savepoint(name string) Savepoint { return Savepoint{t, name} }

// Subtransactions is how many savepoints were set in t. PostgreSQL caches up to 64 of
// them where every reader finds them quickly.
func (t *Txn) Subtransactions() int { return t.savepoints }

// Set sets the savepoint.
func (s Savepoint) Set(ctx context.Context) error {
	s.t.savepoints++
	return s.t.control(ctx, "SAVEPOINT "+s.name)
}

// Count counts the savepoint as one that other code sets.
func (s Savepoint) Count() { s.t.savepoints++ }

// Move sets a savepoint again, in one round trip: a later RollbackTo keeps the changes up
// to now.
func (s Savepoint) Move(ctx context.Context) error {
	s.t.savepoints++
	return s.t.control(ctx, "RELEASE SAVEPOINT "+s.name+"; SAVEPOINT "+s.name)
}

// RollbackTo undoes everything since the savepoint, which remains set. It also works
// after a statement of the transaction has failed. After an error the transaction or its
// connection is unusable.
func (s Savepoint) RollbackTo(ctx context.Context) error {
	return s.t.control(ctx, "ROLLBACK TO SAVEPOINT "+s.name)
}

// Release removes the savepoint and keeps the changes since. It fails after a statement
// of the transaction has failed.
func (s Savepoint) Release(ctx context.Context) error {
	return s.t.control(ctx, "RELEASE SAVEPOINT "+s.name)
}

// CheckDeferred checks the deferred constraints as COMMIT would, and leaves them
// deferred. It reports false if the database cannot do that. After an error, roll back to
// a savepoint set before.
func (t *Txn) CheckDeferred(ctx context.Context) (bool, error) {
	if t.o.CheckDeferred == "" {
		return false, nil
	}
	return true, t.control(ctx, t.o.CheckDeferred)
}

// ErrUnusable matches the error of Txn.Alive if the connection does not answer what it was
// asked: it is lost, or rows that are still open give it the answers to earlier statements.
var ErrUnusable = errors.New("the transaction's connection is unusable")

// Alive returns an error if the transaction is unusable: of class Aborted if a statement
// has failed. Any other error matches ErrUnusable; later calls fail with it too, and the
// connection is thrown away.
func (t *Txn) Alive(ctx context.Context) error {
	if t.o.Alive == "" {
		return nil
	}
	ctx, stop := Guarded(ctx, t)
	defer stop()
	// A number that no earlier statement returns.
	want, got := rand.Int64(), int64(-1)
	err := t.tx.QueryRowContext(ctx, t.o.Alive, append(slices.Clone(t.o.Script), want)...).Scan(&got)
	switch {
	case Classify(err) == Aborted, err == nil && got == want:
		return err
	case err == nil:
		err = errors.New("it answers an earlier statement, because rows were left open")
	}
	t.broken = fmt.Errorf("%w: %w", ErrUnusable, err)
	t.Retire()
	return t.broken
}

// Restore resets the role and the settings of the session for the next statements, also
// if the previous handler changed them for the transaction.
func (t *Txn) Restore(ctx context.Context) error {
	if t.o.Restore == "" {
		return nil
	}
	return t.control(ctx, t.o.Restore)
}

// CloseCursors closes the cursors that the previous handler of t has left open.
func CloseCursors(ctx context.Context, t *Txn) error {
	if t.o.CloseCursors == "" {
		return nil
	}
	return t.control(ctx, t.o.CloseCursors)
}

// control runs statements without arguments and results in one message. When ctx ends, it
// cuts the connection, since the set savepoints are then unknown.
func (t *Txn) control(ctx context.Context, statements string) error {
	if t.broken != nil {
		return t.broken
	}
	ctx, stop := Guarded(ctx, t)
	defer stop()
	_, err := t.tx.ExecContext(ctx, statements, t.o.Script...)
	return err
}
