package intent_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/intent"
)

// The same key and content is one intent, before and after it is done; the answer comes with
// it, and the effects are applied once.
//
//evidence:intent
func TestStart(t *testing.T) {
	onEachStore(t, func(b *bed) {
		first := b.start(request("acme", "mail:77", 7))
		if !first.New || first.State != inbox.Waiting || first.Key != `acme:mail\:77` || first.Scope != "billing/orders" {
			b.Fatalf("%+v", first)
		}
		if again := b.start(request("acme", "mail:77", 7)); again.New || again.State != inbox.Waiting {
			b.Errorf("%+v", again)
		}
		b.process(b.st, 1, handles(applied))
		done := b.await(first.Key)
		if done.State != inbox.Done || string(done.Answer) != `{"number":70}` || done.Letter != nil || !done.Until.IsZero() {
			b.Errorf("%+v", done)
		}
		if again := b.start(request("acme", "mail:77", 7)); again.New || again.State != inbox.Done || string(again.Answer) != string(done.Answer) {
			b.Errorf("%+v", again)
		}
		if n := b.count("SELECT count(*) FROM effects"); n != 1 {
			b.Errorf("%d effects", n)
		}
	})
}

// Other content under a key in use is told to the caller, with the intent that has it, and
// writes nothing.
//
//evidence:intent
func TestConflict(t *testing.T) {
	onEachStore(t, func(b *bed) {
		first := b.start(request("acme", "k", 1))
		got, err := orders.Start(b.ctx(), b.client, request("acme", "k", 2))
		if !errors.Is(err, intent.ErrConflict) || got.ID != first.ID || got.State != inbox.Waiting || got.New {
			b.Errorf("%+v, %v", got, err)
		}
		for _, table := range []string{"dead_letters", "conditions"} {
			if n := b.count("SELECT count(*) FROM headrace_" + table); n != 0 {
				b.Errorf("%d rows of %s", n, table)
			}
		}
		if n := b.count("SELECT count(*) FROM headrace_backlog"); n != 1 {
			b.Errorf("%d rows of the backlog", n)
		}
	})
}

// SameWhen decides what other content is.
func TestSameWhen(t *testing.T) {
	onEachStore(t, func(b *bed) {
		kind := intent.Kind[order]{Consumer: "billing", Handler: "orders", Key: inbox.Join(inbox.Literal("order"), inbox.JSON("id")), SameWhen: inbox.Fields("id")}
		first, err := kind.Start(b.ctx(), b.client, intent.Request[order]{Value: order{ID: 1, Total: "1"}})
		if err != nil || first.Key != "order:1" {
			b.Fatalf("%+v, %v", first, err)
		}
		if again, err := kind.Start(b.ctx(), b.client, intent.Request[order]{Owner: "x", Key: "y", Value: order{ID: 1, Total: "2"}}); err != nil || again.New {
			b.Errorf("%+v, %v", again, err)
		}
		b.process(b.st, 1, func(c *consumer.Consumer) { consumer.Handle(c, "orders", applied, consumer.Local(), kind.Option()) })
		if done := b.await("order:1"); done.State != inbox.Done {
			b.Errorf("%+v", done)
		}
	})
}

// Of calls at the same time, from several processes, one starts the intent.
//
//evidence:intent
func TestConcurrentStarts(t *testing.T) {
	onEachStore(t, func(b *bed) {
		clients := []*intent.Client{b.client, b.newClient(b.open(), intent.Options{})}
		b.process(b.st, 1, handles(applied))
		for id := range 5 {
			var wg sync.WaitGroup
			var mu sync.Mutex
			started := 0
			for n := range 8 {
				wg.Go(func() {
					got, err := orders.Start(b.ctx(), clients[n%2], request("acme", strings.Repeat("k", id+1), id))
					mu.Lock()
					defer mu.Unlock()
					if got.New {
						started++
					}
					if err != nil {
						b.Error(err)
					}
				})
			}
			wg.Wait()
			if started != 1 {
				b.Errorf("%d calls started it", started)
			}
			b.await("acme:" + strings.Repeat("k", id+1))
		}
		if n := b.count("SELECT count(*) FROM effects"); n != 5 {
			b.Errorf("%d effects of 5 intents", n)
		}
	})
}

// The handler's key function is asked before anything is applied: a program with another
// Kind makes a letter. A redrive by a consumer with the right one applies it.
//
//evidence:intent
func TestOtherKeyAtTheClaim(t *testing.T) {
	for name, register := range map[string]func(*consumer.Consumer, consumer.Option){
		"transaction": func(c *consumer.Consumer, o consumer.Option) {
			consumer.Handle(c, "orders", applied, consumer.Local(), o)
		},
		"lease": func(c *consumer.Consumer, o consumer.Option) {
			consumer.HandleLeased(c, "orders", worked, consumer.Local(), o)
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEachStore(t, func(b *bed) {
				other := intent.Kind[order]{Consumer: "billing", Handler: "orders", Key: inbox.JSON("id")}
				b.process(b.st, 1, func(c *consumer.Consumer) { register(c, other.Option()) })
				first := b.start(request("acme", "k", 1))
				dead := b.await(first.Key)
				if dead.State != inbox.Dead || dead.Letter == nil || dead.Letter.Class != dlq.Undecodable || !strings.Contains(dead.Letter.Error, "another key") {
					b.Errorf("%+v, letter %+v", dead, dead.Letter)
				}
				if n := b.count("SELECT count(*) FROM effects"); n != 0 {
					b.Errorf("%d effects", n)
				}
			})
		})
	}
}

// What cannot be started is refused, and nothing is written.
func TestInvalid(t *testing.T) {
	onEachStore(t, func(b *bed) {
		for name, r := range map[string]intent.Request[order]{
			"no owner": {Key: "k"}, "no key": {Owner: "acme"}, "too long": {Owner: "acme", Key: strings.Repeat("x", inbox.MaxKeyBytes)},
			"no text": {Owner: "acme", Key: "\xff"}, "our header": {Owner: "acme", Key: "k", Metadata: map[string]string{"Headrace-Intent-Owner": "other"}},
		} {
			if _, err := orders.Start(b.ctx(), b.client, r); !errors.Is(err, intent.ErrInvalid) {
				b.Errorf("%s: %v", name, err)
			}
		}
		nameless := orders
		nameless.Handler = ""
		if _, err := nameless.Start(b.ctx(), b.client, request("acme", "k", 1)); !errors.Is(err, intent.ErrInvalid) {
			b.Error(err)
		}
		if n := b.count("SELECT count(*) FROM headrace_inbox"); n != 0 {
			b.Errorf("%d rows", n)
		}
	})
}

// The owner and the key are joined so that no two pairs give one key.
//
//evidence:intent-owner
func TestKeysAreUnambiguous(t *testing.T) {
	seen := map[string]bool{}
	for _, pair := range [][2]string{{"a", "b:c"}, {"a:b", "c"}, {`a\`, ":b"}, {`a\:`, "b"}, {"a", `b\:c`}} {
		d, err := orders.Delivery(request(pair[0], pair[1], 1))
		if err != nil || seen[d.Key] {
			t.Errorf("%q: %q, %v", pair, d.Key, err)
		}
		seen[d.Key] = true
	}
}

// A consumer refuses the Kind of another one, and options that it would pass over.
func TestOption(t *testing.T) {
	onEachStore(t, func(b *bed) {
		for want, option := range map[string]func() []consumer.Option{
			`is of consumer "other"`: func() []consumer.Option {
				return []consumer.Option{intent.Kind[order]{Consumer: "other", Handler: "orders"}.Option()}
			},
			"Key is given twice": func() []consumer.Option {
				return []consumer.Option{orders.Option(), consumer.Key(inbox.MessageID())}
			},
		} {
			c, err := consumer.New("billing", b.st, config(1))
			if err != nil {
				b.Fatal(err)
			}
			consumer.Handle(c, "orders", applied, append(option(), consumer.Local())...)
			if err := c.Err(); err == nil || !strings.Contains(err.Error(), want) {
				b.Errorf("%v, not %q", err, want)
			}
		}
	})
}
