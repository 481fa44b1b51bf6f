package regress

import (
	"context"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/retry"
)

// A process that knows nothing of strict order ends a row without releasing the ones that
// are blocked behind it. The next process finds them.
//
// Without that the key was blocked for ever.
//
//evidence:strict-off
func TestBlockedRowIsSwept(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(f *fixture) {
		before, source := runRelease(f, strictRelease, func(_ context.Context, _ *headrace.Tx, m *headrace.Message[body]) error {
			return retry.After(24*time.Hour, errBoom)
		})
		key := map[string]string{orderKey: "key"}
		f.acked(source.Deliver(topic, "m1", []byte(`{}`), key))
		f.eventually("m1 waits for its retry", func() bool { return len(f.attempts("m1")) > 0 })
		f.acked(source.Deliver(topic, "m2", []byte(`{}`), key))
		f.eventually("m2 is blocked", func() bool {
			return f.count("SELECT count(*) FROM headrace_backlog WHERE key = 'm2' AND status = 'blocked'") == 1
		})
		if err := before.halt(); err != nil {
			f.Error(err)
		}
		f.exec("DELETE FROM headrace_backlog WHERE key = 'm1'")
		f.exec("UPDATE headrace_inbox SET state = 'done' WHERE key = 'm1'")
		runRelease(f, currentRelease, insert)
		f.eventually("m2 is applied", func() bool { return f.effects("m2") == 1 })
	})
}
