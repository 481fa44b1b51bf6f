package regress

import (
	"context"
	"errors"
	"regexp"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/internal/memsource"
)

// A consumer refuses two handlers for one topic of one source. The error names the topic
// and both ways out: two consumers, or one handler that calls both.
//
// Without that both subscribed, and each got half of the messages.
//
//evidence:two-handlers
func TestTwoHandlersForOneTopicAreRefused(t *testing.T) {
	t.Parallel()
	for how, options := range map[string][]consumer.Option{
		"plain":  {consumer.Name("audit")},
		"intake": {consumer.Name("audit"), consumer.Intake()},
		"alone":  {consumer.Name("audit"), consumer.Alone()},
	} {
		t.Run(how, func(t *testing.T) {
			onEachStore(t, func(f *fixture) {
				c := f.consumer(f.st, f.config())
				consumer.Handle(c, topic, insert)
				consumer.Handle(c, topic, insert, options...)
				checkRefused(f, c)
			})
		})
	}
	t.Run("leased", func(t *testing.T) {
		onEachStore(t, func(f *fixture) {
			c := f.consumer(f.st, f.config())
			consumer.Handle(c, topic, insert)
			consumer.HandleLeased(c, topic, func(context.Context, *headrace.Message[body]) (headrace.Effects, error) {
				return nil, nil
			}, consumer.Name("audit"))
			checkRefused(f, c)
		})
	})
	t.Run("the same source twice", func(t *testing.T) {
		onEachStore(t, func(f *fixture) {
			c := f.consumer(f.st, f.config())
			consumer.Handle(c, topic, insert)
			consumer.Handle(c, topic, insert, consumer.Name("audit"), consumer.From(f.src))
			checkRefused(f, c)
		})
	})
}

// checkRefused checks that Run refuses the registrations of c.
func checkRefused(f *fixture, c *consumer.Consumer) {
	f.Helper()
	ctx, cancel := context.WithTimeoutCause(f.Context(), 3*time.Second, errors.New("Run goes on"))
	defer cancel()
	err := c.Run(ctx)
	if err == nil {
		f.Fatalf("Run accepts two handlers for one topic: %v", context.Cause(ctx))
	}
	for _, want := range []string{regexp.QuoteMeta(topic), "(?i)two consumers", "(?i)one handler"} {
		if !regexp.MustCompile(want).MatchString(err.Error()) {
			f.Errorf("the error %q does not match %q", err, want)
		}
	}
}

// A topic of the same name on another source is another topic: each handler gets all
// messages of its own.
//
//evidence:two-handlers
func TestOneTopicOfTwoSources(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(f *fixture) {
		other := memsource.New()
		c := f.consumer(f.st, f.config())
		consumer.Handle(c, topic, insert)
		consumer.Handle(c, topic, insert, consumer.Name("audit"), consumer.From(other))
		f.start(c)
		for i, id := range series("m", 10) {
			f.acked(f.deliver(id, i), other.Deliver(topic, id, []byte(`{}`), nil))
			if n := f.effects(id); n != 2 {
				f.Errorf("%s was applied %d times by two handlers", id, n)
			}
		}
	})
}
