package storetest

import (
	"time"

	"github.com/headrace/headrace/outbox"
)

var relayTests = []test{
	{name: "one sink is served at a time", run: relaysServe},
	{name: "a relay that is not heard of loses its place", run: relaysMissed},
}

// serve expects that the relay may publish, or waits for that other sink.
func (b *bundle) serve(id, name, sink, other string) {
	b.Helper()
	got, err := b.Store.Operations().Relays.Serve(b.ctx, outbox.Relay{ID: id, Outbox: name, Sink: sink, Host: "mill-1"}, time.Minute)
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
