package txn_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/headrace/headrace/store/txn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// DESIGN §3 COMMIT: which errors mean rolled back, and which mean unknown.
// TRAPS: COMMIT's error means unknown; a deferred constraint fails with 23505.
//
//evidence:refused
func TestCommitOutcome(t *testing.T) {
	failed := func(err error) bool { return errors.Is(err, pgx.ErrTxCommitRollback) }
	for _, c := range []struct {
		err  error
		want error
		kept bool // the connection stays in the pool
	}{
		{nil, nil, true},
		{stateError("23505"), txn.ErrRolledBack, true},
		{stateError("40001"), txn.ErrRolledBack, true},
		{stateError("25P02"), txn.ErrRolledBack, true},
		{stateError("53100"), txn.ErrRolledBack, true},
		{pgx.ErrTxCommitRollback, txn.ErrRolledBack, false},
		{codeError(5), txn.ErrRolledBack, false}, // SQLITE_BUSY leaves the transaction open
		{codeError(787), txn.ErrRolledBack, false},
		{codeError(13), txn.ErrRolledBack, false},
		{codeError(10), txn.ErrCommitUnknown, false},
		{codeError(10 | 4<<8), txn.ErrCommitUnknown, false},
		{stateError("08006"), txn.ErrCommitUnknown, false},
		{stateError("57P01"), txn.ErrCommitUnknown, false}, // terminated while it waits for a standby
		{stateError("40003"), txn.ErrCommitUnknown, true},
		{severeError{"57014", "ERROR"}, txn.ErrRolledBack, true},
		{severeError{"58030", "ERROR"}, txn.ErrRolledBack, true},
		{severeError{"XX000", "ERROR"}, txn.ErrRolledBack, true},
		{severeError{"57P01", "FATAL"}, txn.ErrCommitUnknown, false},
		{severeError{"57014", "FEHLER"}, txn.ErrCommitUnknown, true}, // lib/pq reads the translated word
		{severeError{"08006", "ERROR"}, txn.ErrCommitUnknown, false}, // a pooler sends it
		{severeError{"40003", "ERROR"}, txn.ErrCommitUnknown, true},
		{stateError("58030"), txn.ErrCommitUnknown, true},
		{stateError("XX000"), txn.ErrCommitUnknown, true},
		{stateError("?"), txn.ErrCommitUnknown, true},
		{driver.ErrBadConn, txn.ErrCommitUnknown, false},
		{io.EOF, txn.ErrCommitUnknown, false},
		{context.DeadlineExceeded, txn.ErrCommitUnknown, false},
		{errors.New("rolled back, it says"), txn.ErrCommitUnknown, false},
	} {
		f := &fake{commit: func() error { return c.err }}
		tx := begin(t, f.open(t, 1), txn.Options{RolledBack: failed, Severity: severity})
		err := tx.Commit(context.Background())
		if !errors.Is(err, c.want) || !errors.Is(err, c.err) {
			t.Errorf("%v became %v, want %v", c.err, err, c.want)
		}
		if errors.Is(err, txn.ErrRolledBack) && errors.Is(err, txn.ErrCommitUnknown) {
			t.Errorf("%v matches both outcomes", err)
		}
		if _, closed := f.connections(); (closed == 0) != c.kept {
			t.Errorf("after %v: %d connections closed", c.err, closed)
		}
	}
}

// TRAPS: lib/pq's Commit ignores its context and hangs on a cut connection.
//
//evidence:own-context
func TestCommitDoesNotHang(t *testing.T) {
	cut := make(chan struct{})
	f := &fake{commit: func() error { <-cut; return driver.ErrBadConn }}
	var abandoned txn.Abandoned
	kills := 0
	tx := begin(t, f.open(t, 1), txn.Options{
		Kill:      func(*sql.Conn) func() { return func() { kills++; close(cut) } },
		Abandoned: &abandoned,
	})
	ctx, cancel := context.WithTimeoutCause(context.Background(), time.Millisecond, errors.New("too slow"))
	defer cancel()
	err := tx.Commit(ctx)
	if !errors.Is(err, txn.ErrCommitUnknown) || !errors.Is(err, context.Cause(ctx)) {
		t.Errorf("commit: %v", err)
	}
	<-abandoned.Ended()
	if _, closed := f.connections(); closed != 1 || kills != 1 {
		t.Errorf("%d connections closed by %d kills", closed, kills)
	}
	// It has ended: nothing more happens, and no second kill.
	if err := tx.Commit(context.Background()); !errors.Is(err, txn.ErrRolledBack) {
		t.Errorf("a second commit: %v", err)
	}
	tx.Rollback()
	tx.Discard()
	if kills != 1 {
		t.Errorf("%d kills", kills)
	}
}

func TestRollback(t *testing.T) {
	f := &fake{}
	db := f.open(t, 1)
	tx := begin(t, db, txn.Options{})
	tx.Rollback()
	tx.Rollback()
	begin(t, db, txn.Options{}).Rollback() // the connection is free again
	if opened, closed := f.connections(); opened != 1 || closed != 0 {
		t.Errorf("%d opened, %d closed", opened, closed)
	}
	f.rollback = func() error { return io.ErrClosedPipe }
	begin(t, db, txn.Options{}).Rollback()
	if _, closed := f.connections(); closed != 1 {
		t.Error("a connection that cannot roll back went to the pool")
	}
}

// Discard does not wait for a handler that is stuck in a statement.
func TestDiscardCutsAStatement(t *testing.T) {
	cut, running := make(chan struct{}), make(chan struct{})
	f := &fake{run: func(string) error { close(running); <-cut; return driver.ErrBadConn }}
	var abandoned txn.Abandoned
	tx := begin(t, f.open(t, 1), txn.Options{Kill: func(*sql.Conn) func() { return func() { close(cut) } }, Abandoned: &abandoned})
	stuck := make(chan error)
	go func() {
		_, err := tx.ExecContext(context.Background(), "work")
		stuck <- err
	}()
	<-running
	tx.Discard()
	if err := <-stuck; !errors.Is(err, driver.ErrBadConn) {
		t.Errorf("the statement returned %v", err)
	}
	<-abandoned.Ended()
	if _, closed := f.connections(); closed != 1 {
		t.Errorf("%d connections closed", closed)
	}
}

// A handler's context ends with the handler, not with the transaction.
func TestBeginOutlivesItsContext(t *testing.T) {
	f := &fake{}
	db := f.open(t, 1)
	ctx, cancel := context.WithCancel(context.Background())
	tx, err := txn.Begin(ctx, db, txn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := txn.Begin(canceled(), db, txn.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("no connection left, and begin says %v", err)
	}
	cancel()
	if _, err := tx.ExecContext(context.Background(), "after"); err != nil {
		t.Errorf("statement: %v", err)
	}
	if err := tx.Commit(context.Background()); err != nil {
		t.Errorf("commit: %v", err)
	}
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// severeError is an error of a server with its severity.
type severeError struct{ stateError, severity string }

func (e severeError) Error() string    { return e.severity + " " + e.stateError }
func (e severeError) SQLState() string { return e.stateError }

func severity(err error) string {
	var s severeError
	errors.As(err, &s)
	return s.severity
}

func TestSavepoints(t *testing.T) {
	f := &fake{}
	tx := begin(t, f.open(t, 1), txn.Options{})
	defer tx.Rollback()
	s := tx.Savepoint("a")
	for _, step := range []func(context.Context) error{s.Set, s.Move, s.RollbackTo, s.Release} {
		if err := step(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"SAVEPOINT a", "RELEASE SAVEPOINT a; SAVEPOINT a", "ROLLBACK TO SAVEPOINT a", "RELEASE SAVEPOINT a"}
	if got := f.statements(); !slices.Equal(got, want) {
		t.Errorf("statements %q", got)
	}
	if n := tx.Subtransactions(); n != 2 {
		t.Errorf("%d subtransactions", n)
	}
}

func TestID(t *testing.T) {
	tx := begin(t, (&fake{}).open(t, 1), txn.Options{})
	defer tx.Rollback()
	if tx.ID() != "" {
		t.Errorf("id %q", tx.ID())
	}
	if tx.SetID("7"); tx.ID() != "7" {
		t.Errorf("id %q", tx.ID())
	}
}
