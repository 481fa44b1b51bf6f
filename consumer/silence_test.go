package consumer_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/internal/pgtest"
)

// What is infrastructure: a database that neither refuses nor answers makes a consumer not
// ready within seconds, also one that has nothing to do, over a driver that never gives
// up. People are told once, and that it is over only when it is.
//
//evidence:outage
func TestSilentDatabase(t *testing.T) {
	for _, driver := range []string{"open", "postgres"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			b, dsn, schema := newPostgres(t, "postgres")
			network, through := pgtest.NewProxy(t, dsn)
			st := behind(t, driver, through, schema)
			t.Cleanup(func() { _ = st.Close() })
			var mu sync.Mutex
			var told []alerts.Kind
			config := b.config()
			config.Alert = func(_ context.Context, a alerts.Alert) error {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, a.Kind)
				return nil
			}
			c, err := consumer.New("test", st, config)
			if err != nil {
				t.Fatal(err)
			}
			consumer.Handle(c, topic, insert)
			b.start(c)
			b.acked(b.deliver("before", `{}`))
			b.eventually("ready", func() bool { return c.Ready() == nil })
			network.Freeze()
			start := time.Now()
			b.eventually("not ready", func() bool { return c.Ready() != nil })
			if took := time.Since(start); took > 15*time.Second {
				t.Errorf("it took %s", took)
			}
			during := b.deliver("during", `{}`)
			network.Thaw()
			b.acked(during)
			b.eventually("ready again", func() bool { return c.Ready() == nil })
			if err := b.halt(); err != nil {
				t.Error(err)
			}
			if want := []alerts.Kind{alerts.Paused, alerts.Resumed}; !slices.Equal(told, want) {
				t.Errorf("told %v, want %v", told, want)
			}
		})
	}
}
