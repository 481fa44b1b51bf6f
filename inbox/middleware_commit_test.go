package inbox_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	. "github.com/headrace/headrace/internal/routertest"
	"github.com/headrace/headrace/store/txn"
)

// state is an error of the server.
type state string

func (s state) Error() string    { return "server says " + string(s) }
func (s state) SQLState() string { return string(s) }

// direct is the middleware around h, without a Router.
func direct(b *Bench, h message.HandlerFunc) message.HandlerFunc {
	return alone(b, inbox.MiddlewareOptions{Handler: Handler, NackPause: time.Millisecond, Versions: b.Store.Operations().Versions})(h)
}

// DESIGN §3, COMMIT: severity ERROR from the server means rolled back, a failure like
// any other; a deadlock is run again at once, for a bounded number of times.
func TestMiddlewareCommitRefused(t *testing.T) {
	t.Parallel()
	OnEachStore(t, func(b *Bench) {
		h := direct(b, insert)
		b.Store.Refuse(1, fmt.Errorf("%w: %w", txn.ErrRolledBack, state("23505")))
		if _, err := h(Message("m", "{}")); !errors.Is(err, state("23505")) || headrace.IsHeld(err) || b.Effects("m") != 0 {
			b.Errorf("constraint: %v", err)
		}
		b.Store.Refuse(2, fmt.Errorf("%w: %w", txn.ErrRolledBack, state("40P01")))
		if _, err := h(Message("m", "{}")); err != nil || b.Effects("m") != 1 {
			b.Errorf("deadlock: %v, %d effects", err, b.Effects("m"))
		}
		b.Store.Refuse(99, fmt.Errorf("%w: %w", txn.ErrRolledBack, state("40001")))
		before := b.Store.Commits()
		if _, err := h(Message("n", "{}")); err == nil || headrace.IsHeld(err) || b.Store.Commits() != before+3 {
			b.Errorf("without end: %v after %d commits", err, b.Store.Commits()-before)
		}
	})
}

// What the server says of a deferred constraint comes with COMMIT.
func TestMiddlewareDeferredConstraint(t *testing.T) {
	t.Parallel()
	OnEachStore(t, func(b *Bench) {
		for _, ddl := range []string{
			"CREATE TABLE parents (id INTEGER PRIMARY KEY)",
			"CREATE TABLE children (parent INTEGER REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)",
		} {
			if _, err := b.DB.Exec(ddl); err != nil {
				b.Fatal(err)
			}
		}
		h := direct(b, func(m *message.Message) ([]*message.Message, error) {
			tx, _ := headrace.TxFrom(m.Context())
			_, err := tx.ExecContext(m.Context(), "INSERT INTO children (parent) VALUES (7)")
			return nil, errors.Join(err, Insert(m))
		})
		if _, err := h(Message("m", "{}")); !errors.Is(err, txn.ErrRolledBack) || headrace.IsHeld(err) {
			b.Errorf("error %v", err)
		}
		if _, ok := b.Row("m"); ok || b.Effects("m") != 0 {
			b.Error("something is left")
		}
	})
}

// A deadlock that the handler meets costs nothing but a rerun; an error that it passes
// over does not commit.
func TestMiddlewareSerializationAndSwallowedErrors(t *testing.T) {
	t.Parallel()
	OnEachStore(t, func(b *Bench) {
		var runs atomic.Int64
		h := direct(b, func(m *message.Message) ([]*message.Message, error) {
			if runs.Add(1) < 3 {
				return nil, fmt.Errorf("update: %w", state("40P01"))
			}
			return nil, Insert(m)
		})
		if _, err := h(Message("m", "{}")); err != nil || runs.Load() != 3 {
			b.Errorf("%v after %d runs", err, runs.Load())
		}
		h = direct(b, func(m *message.Message) ([]*message.Message, error) {
			tx, _ := headrace.TxFrom(m.Context())
			_, _ = tx.ExecContext(m.Context(), "COMMIT")
			return nil, Insert(m)
		})
		if _, err := h(Message("n", "{}")); !errors.Is(err, headrace.ErrForbidden) || b.Effects("n") != 0 {
			b.Errorf("a swallowed COMMIT: %v", err)
		}
	})
}

// inbox.Newer guards the handlers of a Router too.
func TestMiddlewareNewer(t *testing.T) {
	t.Parallel()
	OnEachStore(t, func(b *Bench) {
		version := int64(2)
		h := direct(b, func(m *message.Message) ([]*message.Message, error) {
			tx, _ := headrace.TxFrom(m.Context())
			if err := inbox.Newer(m.Context(), tx, "order 1", version); err != nil {
				return nil, err
			}
			return nil, Insert(m)
		})
		for _, id := range []string{"new", "old"} {
			if _, err := h(Message(id, "{}")); err != nil {
				b.Error(err)
			}
			version--
		}
		if row, _ := b.Row("old"); !row.Stale || b.Effects("new") != 1 || b.Effects("old") != 0 {
			b.Errorf("%+v", row)
		}
	})
}
