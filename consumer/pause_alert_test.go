package consumer_test

import (
	"context"
	"strings"
	"testing"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/consumer"
)

// The database and a person may pause a consumer at the same time: it is resumed when
// both are over, and not before. The gate is worked by hand, since a database does not
// fail between two words of a test.
func TestResumedWhenNothingPauses(t *testing.T) {
	for _, c := range []struct {
		name, last string
		over       func(b *bundle, c *consumer.Consumer)
	}{
		{"the database first", "a person resumed the consumer", func(b *bundle, c *consumer.Consumer) {
			consumer.BreakerOf(c).OK()
			must(b, c.Resume(b.Context(), "ben"))
		}},
		{"the person first", "messages are handled again", func(b *bundle, c *consumer.Consumer) {
			must(b, c.Resume(b.Context(), "ben"))
			consumer.BreakerOf(c).OK()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := setupSQLite(t)
			said := make(chan alerts.Alert, 10)
			config := b.config()
			config.Alert = func(_ context.Context, a alerts.Alert) error { said <- a; return nil }
			con := b.consumer(config)
			consumer.Handle(con, topic, insert)
			b.start(con)
			b.acked(b.deliver("first", `{}`))
			must(b, con.Pause(b.Context(), "ana", ""))
			consumer.BreakerOf(con).Fail(errBoom)
			c.over(b, con)
			must(b, b.halt()) // what waits is told
			close(said)
			var last alerts.Alert
			resumed := 0
			for last = range said {
				if last.Kind == alerts.Resumed { // its count has what was not told of the pauses
					resumed++
				}
			}
			if resumed != 1 || last.Kind != alerts.Resumed || !strings.HasPrefix(last.Text, c.last) {
				t.Errorf("%d resumed, the last alert is %+v", resumed, last)
			}
		})
	}
}

func must(b *bundle, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
