package regress

import (
	"context"
	"database/sql/driver"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/retry"
)

// A function with the driver's connection may panic, or return the driver's error for a lost
// connection. The attempt ends at once, with that as its reason, and the others go on.
//
// Without that database/sql waited for the end of the transaction, which waited for the
// handler: each attempt took the handler's timeout and the grace, and was called one that
// had not returned.
//
//evidence:panic
func TestRawFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, says string
		class      retry.Class
		f          func(driverConn any) error
	}{
		{"panic", "panic: in Raw", retry.Panic, func(any) error { panic("in Raw") }},
		{"lost connection", "driver: bad connection", retry.Transient, func(any) error { return driver.ErrBadConn }},
		{"error", "boom", retry.Transient, func(any) error { return errBoom }},
		{"end of the goroutine", "runtime.Goexit", retry.Transient, func(any) error { runtime.Goexit(); return nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEachWay(t, onEachStore, ownTransaction, func(f *fixture, w way) {
				const culprit, n = "m3", 6
				config := f.configOf(w)
				config.Retry = attempts(2)
				failing := f.consumer(f.st, config)
				w.handle(failing, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
					if err := insert(ctx, tx, m); err != nil || m.ID != culprit {
						return err
					}
					return tx.Raw(c.f)
				})
				f.start(failing)
				began := time.Now()
				for i, id := range series("m", n) {
					f.deliver(id, i)
				}
				f.appliedOnce(neighbours(n, culprit)...)
				f.eventually("the message is dead", func() bool { return f.ended(culprit) })
				if took := time.Since(began); took > 25*time.Second {
					f.Errorf("it took %s", took)
				}
				list := f.attempts(culprit)
				if len(list) != 2 || f.effects(culprit) != 0 {
					f.Fatalf("%d attempts, %d effects", len(list), f.effects(culprit))
				}
				for _, a := range list {
					if a.Class != string(c.class) || !strings.Contains(a.Error, c.says) {
						f.Errorf("the attempt is of class %s: %s", a.Class, a.Error)
					}
				}
				if n := f.count("SELECT count(*) FROM headrace_dead_letters WHERE stack LIKE '%TestRawFails%'"); c.class == retry.Panic && n != 1 {
					f.Error("the letter has not the stack of the panic")
				}
			})
		})
	}
}
