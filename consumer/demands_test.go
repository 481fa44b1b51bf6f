package consumer_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/memsource"
)

// checked is a source that records the demands and refuses them.
type checked struct {
	*memsource.Source
	demands consumer.Demands
}

var errChecked = errors.New("checked")

func (c *checked) Check(_ context.Context, _ string, d consumer.Demands) error {
	c.demands = d
	return errChecked
}

// registered is a checked source that records the topics of its handlers.
type registered struct {
	checked
	topics []string
}

func (r *registered) Registered(topic string) { r.topics = append(r.topics, topic) }

// A source is told of each handler when it is registered, and of its key function at the
// start: that of Key, of Config.Key, or the default.
func TestDemandsKey(t *testing.T) {
	t.Parallel()
	literal := func(text string) inbox.KeyFunc { return inbox.Literal(text) }
	for want, c := range map[string]struct {
		config  inbox.KeyFunc
		options []consumer.Option
	}{
		"the id":     {},
		"the config": {config: literal("the config")},
		"the option": {config: literal("the config"), options: []consumer.Option{consumer.Key(literal("the option"))}},
	} {
		b := setupSQLite(t)
		src := &registered{checked: checked{Source: memsource.New()}}
		config := b.config()
		config.Source, config.Key = nil, c.config
		made := b.consumer(config)
		consumer.Handle(made, topic, func(context.Context, *headrace.Tx, *headrace.Message[body]) error { return nil },
			append(c.options, consumer.From(src))...)
		if !slices.Equal(src.topics, []string{topic}) {
			t.Errorf("registered are %q", src.topics)
		}
		if err := made.Run(t.Context()); !errors.Is(err, errChecked) {
			t.Fatalf("Run: %v", err)
		}
		if key, err := src.demands.Key(&headrace.Delivery{ID: "the id"}); err != nil || key != want {
			t.Errorf("the key is %q, want %q: %v", key, want, err)
		}
	}
}
