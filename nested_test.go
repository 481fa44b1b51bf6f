package headrace_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	_ "github.com/lib/pq"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/store/txn"
)

var errPart = errors.New("this part failed")

func publish(t *testing.T, tx *headrace.Tx, topic string) {
	t.Helper()
	if err := tx.Publish(headrace.Event{Topic: topic, Value: 1}); err != nil {
		t.Fatal(err)
	}
}

func topics(tx *headrace.Tx) (names []string) {
	for _, e := range tx.Events() {
		names = append(names, e.Topic)
	}
	return names
}

// INVARIANT 6: statements and events of a part stand or fall together.
//
//evidence:nested
func TestNested(t *testing.T) {
	tx, _ := handlerTx(t, database(t), headrace.TxOptions{})
	part := func(n int, topic string, err error) headrace.Effects {
		return func(ctx context.Context, tx *headrace.Tx) error {
			publish(t, tx, topic)
			return errors.Join(insert(ctx, tx, n), err)
		}
	}
	publish(t, tx, "before")
	if err := tx.Nested(ctx, part(1, "kept", nil)); err != nil {
		t.Fatal(err)
	}
	if err := tx.Nested(ctx, part(2, "lost", errPart)); !errors.Is(err, errPart) {
		t.Fatal(err)
	}
	if err := tx.Nested(ctx, func(ctx context.Context, tx *headrace.Tx) error {
		if err := part(3, "outer", nil)(ctx, tx); err != nil {
			return err
		}
		if err := tx.Nested(ctx, part(4, "inner", errPart)); !errors.Is(err, errPart) {
			t.Errorf("inner: %v", err)
		}
		return tx.Nested(ctx, part(5, "inner, kept", nil))
	}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Nested(ctx, func(ctx context.Context, tx *headrace.Tx) error {
		return errors.Join(tx.Nested(ctx, part(6, "lost with its outer", nil)), errPart)
	}); !errors.Is(err, errPart) {
		t.Fatal(err)
	}
	publish(t, tx, "after")
	if got := effects(t, tx); !slices.Equal(got, []int{1, 3, 5}) {
		t.Errorf("effects %v", got)
	}
	if got, want := topics(tx), []string{"before", "kept", "outer", "inner, kept", "after"}; !slices.Equal(got, want) {
		t.Errorf("events %q", got)
	}
	if err := tx.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// A panic leaves the transaction as it was before the part, for a handler that
// recovers.
func TestNestedPanics(t *testing.T) {
	tx, _ := handlerTx(t, database(t), headrace.TxOptions{})
	func() {
		defer func() {
			if recover() != "boom" {
				t.Error("the panic was swallowed")
			}
		}()
		_ = tx.Nested(ctx, func(ctx context.Context, tx *headrace.Tx) error {
			publish(t, tx, "lost")
			if err := insert(ctx, tx, 1); err != nil {
				t.Fatal(err)
			}
			panic("boom")
		})
	}()
	if err := insert(ctx, tx, 2); err != nil {
		t.Fatal(err)
	}
	if got := effects(t, tx); !slices.Equal(got, []int{2}) || len(tx.Events()) != 0 {
		t.Errorf("effects %v, events %q", got, topics(tx))
	}
}

// The part's context may end before the part does: its work is undone all the same,
// and no savepoint is left behind.
func TestNestedContextEnds(t *testing.T) {
	tx, _ := handlerTx(t, database(t), headrace.TxOptions{})
	ended, cancel := context.WithCancel(ctx)
	if err := tx.Nested(ended, func(ctx context.Context, tx *headrace.Tx) error {
		if err := insert(ctx, tx, 1); err != nil {
			t.Fatal(err)
		}
		cancel()
		return ctx.Err()
	}); !errors.Is(err, context.Canceled) {
		t.Errorf("nested: %v", err)
	}
	if err := tx.Nested(ended, func(context.Context, *headrace.Tx) error { t.Error("it ran"); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("nested with an ended context: %v", err)
	}
	if got := effects(t, tx); len(got) != 0 {
		t.Errorf("effects %v", got)
	}
	if err := tx.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// A driver may set the savepoint and report an ended context all the same (SQLite
// does). No code would remove that savepoint, and a rollback of the consumer's to
// its own would stop at it.
func TestNestedLeavesNoSavepoint(t *testing.T) {
	ending, cancel := context.WithCancel(ctx)
	open := 0
	tx, _ := handlerTx(t, failing{look: func(ctx context.Context, query string) error {
		switch query {
		case "SAVEPOINT headrace_nested":
			open++
			cancel()
		case "RELEASE SAVEPOINT headrace_nested":
			open--
		}
		return ctx.Err()
	}}.open(t), headrace.TxOptions{})
	if err := tx.Nested(ending, func(ctx context.Context, _ *headrace.Tx) error { return ctx.Err() }); !errors.Is(err, context.Canceled) {
		t.Errorf("nested: %v", err)
	}
	if open != 0 {
		t.Errorf("%d savepoints are left", open)
	}
}

// INVARIANT 3. Where the database does not do its part, it is unknown what is left of
// the part: the message fails even if the handler passes over the error.
func TestNestedOnAFailingDatabase(t *testing.T) {
	const savepoint, rollback, release = "SAVEPOINT headrace_nested", "ROLLBACK TO SAVEPOINT headrace_nested", "RELEASE SAVEPOINT headrace_nested"
	for name, c := range map[string]struct {
		statements []string
		part       error // of the part
		bad        bool  // the message has failed
	}{
		"no savepoint":               {[]string{savepoint}, nil, true},
		"no way back":                {[]string{rollback}, errPart, true},
		"no release after the way":   {[]string{release}, errPart, true},
		"no release, but a way back": {[]string{release}, nil, true}, // the release after it fails as well
		"neither":                    {[]string{release, rollback}, nil, true},
		"all well":                   {nil, errPart, false},
	} {
		t.Run(name, func(t *testing.T) {
			tx, _ := handlerTx(t, failingOn(t, c.statements...), headrace.TxOptions{})
			err := tx.Nested(ctx, func(_ context.Context, tx *headrace.Tx) error {
				publish(t, tx, "lost")
				return c.part
			})
			if err == nil || !errors.Is(err, c.part) && c.part != nil || errors.Is(err, errRefused) != c.bad {
				t.Errorf("nested: %v", err)
			}
			if len(tx.Events()) != 0 {
				t.Errorf("events %q", topics(tx))
			}
			if err := tx.Close(); errors.Is(err, errRefused) != c.bad {
				t.Errorf("close: %v", err)
			}
		})
	}
}

// PostgreSQL: a part that passes over the error of a statement has failed, and only
// the part.
func TestNestedPassesOverAnError(t *testing.T) {
	dsn, _ := pgtest.New(t)
	db := pgtest.OpenDB(t, "postgres", dsn)
	if _, err := db.Exec("CREATE TABLE effects (n int)"); err != nil {
		t.Fatal(err)
	}
	tx, under := handlerTx(t, db, headrace.TxOptions{})
	err := tx.Nested(ctx, func(ctx context.Context, tx *headrace.Tx) error {
		publish(t, tx, "lost")
		if _, err := tx.ExecContext(ctx, "INSERT INTO effects VALUES (1), (1/0)"); err == nil {
			t.Error("a division by zero succeeded")
		}
		return nil
	})
	if txn.Classify(err) != txn.Aborted {
		t.Errorf("nested: %v", err)
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO effects VALUES (2)"); err != nil {
		t.Errorf("after the part: %v", err)
	}
	if got := effects(t, tx); !slices.Equal(got, []int{2}) || len(tx.Events()) != 0 {
		t.Errorf("effects %v, events %q", got, topics(tx))
	}
	if err := errors.Join(tx.Close(), under.Commit(ctx)); err != nil {
		t.Errorf("commit: %v", err)
	}
}
