package storetest

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/outbox"
)

var relayTests = []test{
	{name: "one sink is served at a time", run: relaysServe},
	{name: "an outbox belongs to its consumers", run: relaysOwn},
	{name: "a relay that is not heard of loses its place", run: relaysMissed},
}

// serve expects that the relay may publish, or waits for that other sink.
func (b *bundle) serve(id, name, sink, other string) {
	b.Helper()
	got, err := b.Store.Operations().Relays.Serve(b.ctx, outbox.Relay{ID: id, Outbox: name, Sink: sink, Host: "mill-1", Consumers: []string{"billing"}}, time.Minute)
	if err != nil || got != other {
		b.Errorf("%s: %q, %v, want %q", id, got, err, other)
	}
}

func (b *bundle) wantRelays(relays, waiting int64, sink string) {
	b.Helper()
	list, err := b.Store.Outbox().List(b.ctx, "o")
	b.must(err)
	if len(list) != 1 || list[0] != (outbox.Status{Outbox: "o", Relays: relays, Waiting: waiting, Sink: sink}) {
		b.Errorf("the outbox: %+v, want %d relays to %q and %d that wait", list, relays, sink, waiting)
	}
}

func relaysServe(b *bundle) {
	relays := b.Store.Operations().Relays
	for range 2 {
		b.serve("first", "o", "kafka", "")
		b.serve("beside", "o", "kafka", "")
		b.serve("later", "o", "redis", "kafka")
		b.serve("routes", "o", "", "")
		b.serve("elsewhere", "p", "redis", "")
	}
	b.wantRelays(3, 1, "kafka")
	b.must(relays.End(b.ctx, "first"))
	b.serve("later", "o", "redis", "kafka")
	b.must(relays.End(b.ctx, "beside"))
	b.serve("later", "o", "redis", "")
	b.serve("first", "o", "kafka", "redis")
	b.wantRelays(2, 1, "redis")
	b.must(relays.End(b.ctx, "unknown"))
}

func relaysMissed(b *bundle) {
	b.serve("first", "o", "kafka", "")
	b.shift(59 * time.Second)
	b.serve("later", "o", "redis", "kafka")
	b.shift(65 * time.Second)
	b.serve("later", "o", "redis", "")
	b.serve("first", "o", "kafka", "redis")
	b.shift(3 * time.Hour)
	b.serve("last", "o", "nats", "")
	b.wantRelays(1, 0, "nats")
}

// relaysOwn: an outbox stays with the consumers that published it first, also while none of
// their processes runs. Others join them by the sink's identity alone.
func relaysOwn(b *bundle) {
	relays := b.Store.Operations().Relays
	relay := func(sink string, known bool, consumers ...string) outbox.Relay {
		return outbox.Relay{ID: strings.Join(consumers, "+"), Outbox: "o", Sink: sink, Known: known, Consumers: consumers}
	}
	for _, step := range []struct {
		relay outbox.Relay
		owned bool // by others
	}{
		{relay("*kafka.Publisher", false, "billing"), false},
		{relay("*kafka.Publisher", false, "shipping"), true},
		{relay("*nats.Publisher", false, "billing", "search"), false}, // billing owns it, and search joins
		{relay("kafka:a", true, "shipping"), true},
		{relay("*kafka.Publisher", false, "search"), false},
		{relay("kafka:a", true, "billing"), false},
		{relay("kafka:b", true, "shipping"), true},
		{relay("kafka:a", false, "shipping"), true}, // a Go type is no identity
		{relay("kafka:a", true, "shipping"), false},
		{relay("kafka:b", true, "shipping"), false}, // it moves to another sink
	} {
		err := relays.Claim(b.ctx, step.relay)
		if errors.Is(err, outbox.ErrOwned) != step.owned || !step.owned && err != nil {
			b.Errorf("%+v: %v, want that others own it: %t", step.relay, err, step.owned)
		}
		_, err = relays.Serve(b.ctx, step.relay, time.Minute)
		if errors.Is(err, outbox.ErrOwned) != step.owned || !step.owned && err != nil {
			b.Errorf("%+v serves: %v, want that others own it: %t", step.relay, err, step.owned)
		}
		b.must(relays.End(b.ctx, step.relay.ID))
	}
	_, err := b.Store.Operations().Subscriptions.Move(b.ctx, "billing", "invoicing", "anna")
	b.must(err)
	b.must(relays.Claim(b.ctx, relay("*kafka.Publisher", false, "invoicing")))
	owners, err := relays.Owners(b.ctx, "o")
	b.must(err)
	if want := []outbox.Owner{{Outbox: "o", Consumer: "billing", Sink: "kafka:a"}, {Outbox: "o", Consumer: "invoicing"}, {Outbox: "o", Consumer: "search"}, {Outbox: "o", Consumer: "shipping", Sink: "kafka:b"}}; !slices.Equal(owners, want) {
		b.Errorf("the owners are %q, not %q", owners, want)
	}
	elsewhere := relay("*kafka.Publisher", false, "stock")
	elsewhere.Outbox = "p"
	b.must(relays.Claim(b.ctx, elsewhere))
	if owners, err := relays.Owners(b.ctx, ""); err != nil || len(owners) != 5 || owners[4] != (outbox.Owner{Outbox: "p", Consumer: "stock"}) {
		b.Errorf("all owners: %q, %v", owners, err)
	}
}
