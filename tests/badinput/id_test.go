package badinput

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/codec"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/prune"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
)

func many(n int) map[string]string {
	m := make(map[string]string, n)
	for i := range n {
		m[fmt.Sprintf("header-%d", i)] = fmt.Sprint(i)
	}
	return m
}

func ids() []input {
	one := []byte(`{"n":1}`)
	list := []input{
		{n: 19, name: "no id and no place", topic: raw, id: noID, payload: one, want: undecodable, says: "absent"},
		{n: 19, name: "no id, but a place", topic: raw, id: noID, payload: one, at: headrace.Coordinates{Broker: "kafka", Topic: "t#1", Partition: "0", Position: "7"}, want: applied},
		{n: 20, name: "white space only", topic: raw, id: " \t\n", payload: one, want: undecodable, says: "white space"},
		{n: 22, name: "an id", topic: raw, id: "same", payload: []byte("one"), want: applied},
		{n: 22, name: "the same id, another payload", topic: raw, id: "same", payload: []byte("two"), want: dead(dlq.Conflict)},
		{n: 22, name: "the same id, a third payload", topic: raw, id: "same", payload: []byte("three"), want: dead(dlq.Conflict)},
		{n: 23, name: "the same id on another topic", topic: inJSON, id: "same", payload: one, want: applied},
		{n: 21, name: "512 bytes", topic: raw, id: strings.Repeat("é", 256), payload: one, want: applied},
		{n: 21, name: "513 bytes", topic: raw, id: strings.Repeat("x", 513), payload: one, want: undecodable, says: "513 bytes"},
		{n: 21, name: "1 KiB", topic: raw, id: strings.Repeat("y", 1<<10), payload: one, want: undecodable, says: "1024 bytes"},
		{n: 21, name: "1 MiB", topic: raw, id: strings.Repeat("z", 1<<20), payload: one, want: undecodable, says: "1048576 bytes"},
		{n: 24, name: "NUL", topic: raw, id: "a\x00b", payload: one, want: undecodable, says: "NUL"},
		{n: 24, name: "no UTF-8", topic: raw, id: "a\xff", payload: one, want: undecodable, says: "UTF-8"},
		{n: 26, name: "no headers", topic: refuse, payload: one, want: dead(dlq.Permanent)},
		{n: 26, name: "10,000 headers", topic: refuse, payload: one, metadata: many(10_000), want: dead(dlq.Permanent)},
		{n: 26, name: "a header of 64 KiB", topic: refuse, payload: one, metadata: map[string]string{"big": strings.Repeat("h", 64<<10)}, want: dead(dlq.Permanent)},
		{n: 26, name: "binary headers", topic: refuse, payload: one, metadata: map[string]string{"a": "\xff\x00", "\xfe": "b", "": ""}, want: dead(dlq.Permanent)},
		{n: 26, name: "Unicode and emoji", topic: refuse, payload: one, metadata: map[string]string{"ключ": "значение", "🙂": "🙃", "a b": "c\td"}, want: dead(dlq.Permanent)},
		{n: 27, name: "line ends in a header", topic: refuse, payload: one, metadata: map[string]string{"h": "v\r\nX-Injected: yes", "k\r\nX": "y"}, want: dead(dlq.Permanent)},
	}
	for _, id := range []string{"a", " a", "a ", "A", "\u00e9", "e\u0301", "ＡＢ", strings.Repeat("u", 37)} { // twins: all are messages of their own
		list = append(list, input{n: 20 + len(id)/37, name: fmt.Sprintf("twins %q", id), topic: raw, id: id, payload: one, want: applied})
	}
	for _, id := range []string{`'; DROP TABLE effects; --`, `"`, `%`, `a/b`, `../..`, "a\nb", "$1", `\`, "{{schema}}", "null", "0"} {
		list = append(list, input{n: 24, name: fmt.Sprintf("%q", id), topic: raw, id: id, payload: one, want: applied})
	}
	forged := map[string]string{"x-attempt": "9", "_watermill_message_uuid": "forged", "dead_reason": "forged", dlq.HeaderAttempts: "99", dlq.HeaderClass: "conflict", "reason_poisoned": "x"}
	list = append(list, input{n: 28, name: "reserved names", topic: raw, payload: one, metadata: forged, want: applied},
		input{n: 28, name: "reserved names, refused", topic: refuse, payload: one, metadata: forged, want: dead(dlq.Permanent)})
	for _, attempt := range []string{"-1", "2147483648", "NaN", ""} {
		list = append(list, input{n: 29, name: "attempt " + attempt, topic: raw, payload: one, metadata: map[string]string{"x-attempt": attempt, "headrace_attempts": attempt, "x-delivery-count": attempt}, want: applied})
	}
	for _, at := range []string{"0000-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "9999-12-31T23:59:59Z"} {
		list = append(list,
			input{n: 30, name: "time " + at, topic: inJSON, payload: []byte(`{"at":"` + at + `"}`), metadata: map[string]string{"_watermill_delayed_until": at, "ce-time": at}, want: applied})
	}
	return append(list,
		input{n: 30, name: "a time of five digits", topic: inJSON, payload: []byte(`{"at":"10000-01-01T00:00:00Z"}`), want: undecodable},
		input{n: 30, name: "a negative time", topic: inJSON, payload: []byte(`{"at":-1}`), want: undecodable},
		input{n: 31, name: "a huge trace", topic: raw, payload: one, metadata: map[string]string{"traceparent": strings.Repeat("0", 64<<10), "tracestate": "a=b", "baggage": strings.Repeat("k=v,", 16<<10)}, want: applied},
		input{n: 31, name: "a huge trace, refused", topic: refuse, payload: one, metadata: map[string]string{"traceparent": "00-\x00", "tracestate": strings.Repeat("a", 4<<10), "baggage": strings.Repeat("k=v,", 16<<10)}, want: dead(dlq.Permanent)},
	)
}

// Bad input 19 to 31, INVARIANTS 1, 2, 12 and 14.
//
//evidence:bad-input
func TestIDs(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		b.inputs(ids())
		var traces int
		if err := b.db.QueryRowContext(b.Context(), "SELECT count(*) FROM effects WHERE trace <> ''").Scan(&traces); err != nil || traces != 0 {
			b.Errorf("31: %d huge traces were kept, %v", traces, err)
		}
	})
}

// Bad input 23: one id at two consumers of one database is two messages.
func TestOneIDTwoConsumers(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		for i, name := range []string{"one", "two"} {
			c, err := consumer.New(name, b.st, b.config())
			if err != nil {
				b.Fatal(err)
			}
			consumer.Handle(c, raw, apply[[]byte], consumer.Codec(codec.Raw()))
			stop := b.run(c)
			b.send(b.T, raw, message.NewMessage("m", []byte("x")))
			stop()
			if got := b.state(); got != (state{effects: i + 1}) {
				b.Errorf("after %s: %+v", name, got)
			}
		}
	})
}

// Bad input 25: an id whose record was pruned yesterday is a new message: it is applied
// again, which is why a window must exceed the source's retention (40).
func TestIDThatWasPruned(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		c, err := consumer.New("test", b.st, b.config())
		if err != nil {
			b.Fatal(err)
		}
		handlers(c)
		stop := b.run(c)
		defer stop()
		deliver := func(want int) {
			b.Helper()
			b.send(b.T, raw, message.NewMessage("m", []byte("x")))
			if got := b.state(); got != (state{effects: want}) {
				b.Errorf("%+v, want %d effects", got, want)
			}
		}
		deliver(1)
		deliver(1)
		old := map[string]string{"sqlite": "48 * 3600000000", "postgres": "interval '48 hours'"}[b.kind]
		b.exec("UPDATE headrace_inbox SET changed_at = changed_at - " + old)
		plan := inbox.Plan{Window: 24 * time.Hour, DeadLetters: time.Hour}
		if done, err := prune.Round(b.Context(), b.st.Operations().Pruner, plan, "test", "", prune.Options{}); err != nil || done.Messages != 1 {
			b.Fatalf("pruned %+v, %v", done, err)
		}
		deliver(2)
		deliver(2)
	})
}

// published is a sink that remembers topics and ids.
type published struct {
	mu   sync.Mutex
	seen []string
	more chan struct{}
}

// Publish implements message.Publisher.
func (p *published) Publish(topic string, ms ...*message.Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range ms {
		p.seen = append(p.seen, topic+"|"+m.UUID)
		p.more <- struct{}{}
	}
	return nil
}

// Close implements message.Publisher.
func (p *published) Close() error { return nil }

// topics may be taken for another one.
var topics = []string{
	`a"; drop table effects; --`, "A", "a", "..", "_", "a-b", "a_b", "a.b", "тема", "%", "{{schema}}", "a a", "*", "a/b",
	strings.Repeat("t", 63), strings.Repeat("t", 63) + "1", strings.Repeat("t", 63) + "2", strings.Repeat("é", 150),
}

// Bad input 32: each topic is one of its own, for handlers and for events: the same id
// is applied once in each, and its event goes to each.
//
//evidence:bad-input
func TestTopics(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		sink := &published{more: make(chan struct{}, 1000)}
		config := b.config()
		config.Sink = sink
		c, err := consumer.New("test", b.st, config)
		if err != nil {
			b.Fatal(err)
		}
		var want []string
		for i, topic := range topics {
			work := func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[[]byte]) error {
				if err := tx.Publish(headrace.Event{ID: "e", Topic: topic, OrderKey: topic, Payload: []byte{}}); err != nil {
					return err
				}
				return apply(ctx, tx, m)
			}
			name := topic
			if len(name) > 120 {
				name = fmt.Sprint("handler ", i)
			}
			consumer.Handle(c, topic, work, consumer.Name(name), consumer.Codec(codec.Raw()))
			want = append(want, topic+"|e")
		}
		stop := b.run(c)
		for _, topic := range topics {
			for range 2 {
				b.send(b.T, topic, message.NewMessage("m", []byte("x")))
			}
		}
		for range topics {
			select {
			case <-sink.more:
			case <-time.After(time.Minute):
				b.Fatal("an event was not published")
			}
		}
		stop()
		if got := b.state(); got != (state{effects: len(topics)}) {
			b.Errorf("%+v, want %d effects", got, len(topics))
		}
		slices.Sort(want)
		slices.Sort(sink.seen)
		if !slices.Equal(sink.seen, want) {
			b.Errorf("published %q, want %q", sink.seen, want)
		}
	})
}

// Names that look like another: each would be another identity, so that a newline in an
// environment variable doubled the effects.
func TestNamesThatAreRefused(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		for name, want := range map[string]string{
			" a": "begins or ends with a blank", "a ": "begins or ends with a blank", "a\n": "begins or ends with a blank", "a\u00a0": "begins or ends with a blank",
			"a\x1bb": "has a control character", "a\u200b": "has a format character", "\ufeffa": "has a format character",
		} {
			_, made := consumer.New(name, b.st, b.config())
			c, err := consumer.New("test", b.st, b.config())
			if err != nil {
				b.Fatal(err)
			}
			consumer.Handle(c, raw, apply[order], consumer.Name(name))
			_, opened := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "hr.db"), sqlite.Options{Migrate: true, Outbox: name})
			_, openedToo := postgres.Open(b.Context(), "postgres://nobody@127.0.0.1:1/none", postgres.Options{Outbox: name})
			for option, err := range map[string]error{"name": made, "option consumer.Name": c.Err(), "Options.Outbox": opened, "postgres: Options.Outbox": openedToo} {
				if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), option) || !strings.Contains(err.Error(), strconv.Quote(name)) {
					b.Errorf("%s %q: %v, want %q", option, name, err, want)
				}
			}
		}
	})
}

// Bad input 32, refused: no topic, and names that are no names.
//
//evidence:bad-input
func TestTopicsThatAreRefused(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		for topic, want := range map[string]string{
			"": "the topic is empty", strings.Repeat("t", 300): "handler name (option consumer.Name) is longer than 120 bytes", "a\x00b": "not valid UTF-8", "a\xff": "not valid UTF-8",
			" a": "begins or ends with a blank", "a\n": "begins or ends with a blank", "a\x1bb": "has a control character",
		} {
			c, err := consumer.New("test", b.st, b.config())
			if err != nil {
				b.Fatal(err)
			}
			consumer.Handle(c, topic, apply[order])
			if err := c.Run(b.Context()); err == nil || !strings.Contains(err.Error(), want) {
				b.Errorf("topic %.20q: %v, want %q", topic, err, want)
			}
		}
		c, err := consumer.New("test", b.st, b.config())
		if err != nil {
			b.Fatal(err)
		}
		consumer.Handle(c, raw, func(_ context.Context, tx *headrace.Tx, m *headrace.Message[[]byte]) error {
			return retry.Permanent(tx.Publish(headrace.Event{Topic: string(m.Body), Payload: []byte{}}))
		}, consumer.Codec(codec.Raw()))
		stop := b.run(c)
		defer stop()
		for i, topic := range []string{"", "a\x00b", strings.Repeat("t", 1025)} {
			b.send(b.T, raw, message.NewMessage(fmt.Sprint("m", i), []byte(topic)))
			if l := b.newest(); l.Class != dlq.Permanent || !strings.Contains(l.Error, headrace.ErrInvalidEvent.Error()) {
				b.Errorf("event to topic %.20q: %s, %s", topic, l.Class, l.Error)
			}
		}
	})
}
