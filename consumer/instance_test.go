package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/instance"
)

// closedSource fails at once.
type closedSource struct{}

func (closedSource) Subscribe(context.Context, string) (<-chan *message.Message, error) {
	return nil, errors.New("the source is closed")
}

func (closedSource) Close() error { return nil }

// A process that ends while it starts has ended in order: it leaves no row that looks like
// that of a dead one.
func TestEndDuringTheStart(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		config := b.config()
		config.Source = closedSource{}
		for range 12 {
			c := b.consumer(config)
			handled(c)
			if err := c.Run(b.Context()); err == nil {
				b.Fatal("Run without a source returned nil")
			}
		}
		list, err := b.st.Operations().Instances.List(b.Context(), "test")
		if err != nil {
			b.Fatal(err)
		}
		for _, i := range list {
			if i.Ended.IsZero() {
				b.Errorf("an instance of %d is still there, last seen %s ago", len(list), i.Age)
			}
		}
	})
}

// Config.Environment and Config.Build are in the rows of the process and of dead letters,
// and in alerts; without them the process's environment variables are.
func TestEnvironmentAndBuild(t *testing.T) {
	t.Setenv("HEADRACE_ENVIRONMENT", "staging")
	t.Setenv("HEADRACE_BUILD", "1.7.0")
	for _, c := range []struct{ environment, build, wantEnvironment, wantBuild string }{
		{"", "", "staging", "1.7.0"},
		{"production", "1.8.0", "production", "1.8.0"},
	} {
		b := setupSQLite(t)
		config, told := b.alertsTo()
		config.Environment, config.Build = c.environment, c.build
		made := b.consumer(config)
		consumer.Handle(made, topic, hopeless)
		b.start(made)
		b.acked(b.deliver("a", `{"n":1}`))
		if a := b.told(told, alerts.GroupFailing); a.Environment != c.wantEnvironment || a.Build != c.wantBuild {
			t.Errorf("%+v: the alert is of %q, %q", c, a.Environment, a.Build)
		}
		if l := b.letters(dlq.Filter{}); len(l) != 1 || l[0].Environment != c.wantEnvironment || l[0].Build != c.wantBuild {
			t.Errorf("%+v: the dead letters are %+v", c, l)
		}
		if err := b.halt(); err != nil {
			t.Error(err)
		}
		list, err := b.st.Operations().Instances.List(t.Context(), "test")
		if err != nil || len(list) != 1 || list[0].Environment != c.wantEnvironment || list[0].Build != c.wantBuild {
			t.Errorf("%+v: the instances are %+v, %v", c, list, err)
		}
	}
}

// A beat says what the process has done lately.
func TestWork(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		c := b.consumer(b.config())
		consumer.Hurry(c, 100)
		consumer.Handle(c, topic, func(context.Context, *headrace.Tx, *headrace.Message[map[string]int]) error { return nil })
		b.start(c)
		var work instance.Work
		for n := 0; work.Rate == 0 || work.Median == 0; n++ {
			b.acked(b.deliver(fmt.Sprint("k", n), `{"n":1}`))
			list, err := b.st.Operations().Instances.List(b.Context(), "test")
			if err != nil || len(list) != 1 {
				b.Fatal(list, err)
			}
			work = list[0].Work
		}
		if work.Median > time.Minute {
			b.Errorf("%+v", work)
		}
		if err := b.halt(); err != nil {
			b.Error(err)
		}
	})
}
