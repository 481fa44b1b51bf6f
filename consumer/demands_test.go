package consumer_test

import (
	"context"
	"errors"
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

// A source is told whether the handler has a key of its own, from Key or Config.Key.
func TestDemandsOwnKey(t *testing.T) {
	for _, c := range []struct {
		config  consumer.Config
		options []consumer.Option
		want    bool
	}{
		{},
		{config: consumer.Config{Key: inbox.PayloadHash()}, want: true},
		{options: []consumer.Option{consumer.Key(inbox.PayloadHash())}, want: true},
	} {
		b := setupSQLite(t)
		src := &checked{Source: memsource.New()}
		config := b.config()
		config.Source, config.Key = nil, c.config.Key
		made := b.consumer(config)
		consumer.Handle(made, topic, func(context.Context, *headrace.Tx, *headrace.Message[body]) error { return nil },
			append(c.options, consumer.From(src))...)
		if err := made.Run(t.Context()); !errors.Is(err, errChecked) {
			t.Fatalf("Run: %v", err)
		}
		if src.demands.OwnKey != c.want {
			t.Errorf("OwnKey is %t, want %t", src.demands.OwnKey, c.want)
		}
	}
}
