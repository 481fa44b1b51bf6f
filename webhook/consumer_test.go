package webhook_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/fault"
	"github.com/headrace/headrace/webhook"
)

// 20 deliveries of one event at once, and one later, have one effect, and each gets 200.
//
//evidence:webhook
func TestOneEffect(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		f.handle()
		f.start()
		var posts sync.WaitGroup
		for range 20 {
			posts.Go(func() { f.want("one of 20", event("1"), 200) })
		}
		posts.Wait()
		f.want("a duplicate", event("1"), 200)
		f.effects(1)
		f.letters()
	})
}

// A captured request of Stripe is a duplicate, within the tolerance.
//
//evidence:webhook-signed
func TestReplay(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		f.handle()
		f.mux.Handle("POST /other", f.hooks.Endpoint("stripe", webhook.Stripe(secret)))
		f.start()
		body := event("1")
		captured := map[string]string{"Stripe-Signature": stripe(secret, body, time.Now().Add(-time.Minute))}
		for _, path := range []string{"/stripe", "/stripe", "/other"} {
			if got := send(t, f.url+path, body, captured); got != 200 {
				t.Errorf("%s: %d", path, got)
			}
		}
		f.effects(1)
	})
}

// A captured request of GitHub passes under another id, event and URL. The handler's own
// key makes it a duplicate.
//
//evidence:webhook-signed
func TestReplayOfBodySigned(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		for _, path := range []string{"/push", "/release"} {
			f.mux.Handle("POST "+path, f.hooks.Endpoint("github", webhook.GitHub(secret)))
		}
		consumer.Handle(f.c, "github", insert, consumer.From(f.hooks), consumer.Key(inbox.JSON("id")))
		f.start()
		for i, path := range []string{"/push", "/push", "/release"} {
			h := map[string]string{"X-Hub-Signature-256": github(secret, event("1")), "X-GitHub-Delivery": strings.Repeat("d", i+1), "X-GitHub-Event": path}
			if got := send(f.T, f.url+path, event("1"), h); got != 200 {
				f.Errorf("%s: %d", path, got)
			}
		}
		f.effects(1)
		f.letters()
	})
}

// A handler whose key is made from what is not signed cannot have an endpoint whose
// signatures cover the body alone, whatever its kind.
//
//evidence:webhook-signed
func TestBodySignedNeedsKey(t *testing.T) {
	register := map[string]func(f *fixture, options ...consumer.Option){
		"Handle": func(f *fixture, options ...consumer.Option) { consumer.Handle(f.c, "github", insert, options...) },
		"HandleLeased": func(f *fixture, options ...consumer.Option) {
			consumer.HandleLeased(f.c, "github", func(context.Context, *headrace.Message[fact]) (headrace.Effects, error) { return nil, nil }, options...)
		},
	}
	own := webhook.Scheme{Verify: func(webhook.Request) (string, error) { return "1", nil }}
	for name, scheme := range map[string]webhook.Scheme{"GitHub": webhook.GitHub(secret), "Shopify": webhook.Shopify(secret), "own": own} {
		for kind, handle := range register {
			t.Run(name+kind, func(t *testing.T) {
				f := onSQLite(t) // it does not come to the database
				for what, key := range map[string]inbox.KeyFunc{
					"the default": nil, "the id": inbox.MessageID(), "a header": inbox.Header("x-sent"),
					"the id without one in the body": inbox.First(inbox.JSON("id"), inbox.MessageID()),
				} {
					f.use(sent(), consumer.Config{Key: key})
					_ = f.hooks.Endpoint("github", scheme)
					handle(f, consumer.From(f.hooks))
					f.run()
					if err := <-f.ended; err == nil || !strings.Contains(err.Error(), "consumer.Key") {
						f.Errorf("Run with %s: %v", what, err)
					}
					f.stop()
					f.stop = nil
				}
				f.use(sent(), consumer.Config{Key: inbox.MessageID()})
				_ = f.hooks.Endpoint("github", scheme)
				handle(f, consumer.From(f.hooks), consumer.Key(inbox.First(inbox.JSON("id"), inbox.PayloadHash())))
				f.start()
			})
		}
	}
}

// A key that is made from a header which is not stored would be missing in every message, for
// ever.
//
//evidence:webhook-signed
func TestKeyOfAHeaderThatIsNotStored(t *testing.T) {
	f := onSQLite(t) // it does not come to the database
	for what, c := range map[string]struct {
		key  inbox.KeyFunc
		runs bool
	}{
		"another":             {inbox.Header("X-Order-Id"), false},
		"another, in a join":  {inbox.Join(inbox.Literal("order"), inbox.Header("X-Order-Id")), false},
		"in other case":       {inbox.Header("x-SENT"), true},
		"the id, without one": {inbox.First(inbox.Header("X-Order-Id"), inbox.MessageID()), true},
		"of the body":         {inbox.JSON("id"), true},
	} {
		f.use(sent(), consumer.Config{Key: c.key})
		_ = f.hooks.Endpoint("orders", webhook.Standard("whsec_c2VjcmV0"))
		consumer.Handle(f.c, "orders", insert, consumer.From(f.hooks))
		if c.runs {
			f.start()
			f.halt()
			continue
		}
		f.run()
		if err := <-f.ended; err == nil || !strings.Contains(err.Error(), `"X-Order-Id", which is not stored: name it in Options.Headers`) {
			f.Errorf("Run with %s: %v", what, err)
		}
		f.stop()
		f.stop = nil
	}
}

// sent are quiet options that store the header X-Sent.
func sent() webhook.Options {
	o := quiet()
	o.Headers = []string{"X-Sent"}
	return o
}

// An endpoint whose topic no handler takes is logged at the start, once, and no other.
func TestTopicWithoutHandler(t *testing.T) {
	f := onSQLite(t)
	var log strings.Builder
	o := quiet()
	o.Logger = slog.New(slog.NewTextHandler(&lockedWriter{&log}, nil))
	f.use(o, consumer.Config{})
	for _, topic := range []string{"stirpe", "shop"} {
		_ = f.hooks.Endpoint(topic, webhook.Standard("whsec_c2VjcmV0"))
	}
	other, err := consumer.New("other", f.st, consumer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	consumer.Handle(other, "shop", insert, consumer.From(f.hooks)) // it does not run yet
	f.handle()
	f.start()
	if text := logged(&log); strings.Count(text, "no handler takes") != 1 || !strings.Contains(text, "topic=stirpe") {
		t.Errorf("logged: %s", text)
	}
}

// There is a 2xx only while the consumer runs and takes messages.
//
//evidence:webhook
func TestLife(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		f.handle()
		f.want("before Run", event("1"), 503)
		f.start()
		f.want("running", event("1"), 200)
		if err := f.c.Pause(f.Context(), "me", "a test"); err != nil {
			f.Fatal(err)
		}
		waitFor(f.T, func() bool { return post(f.T, f.url+"/stripe", event("2")) == 503 })
		if err := f.c.Resume(f.Context(), "me"); err != nil {
			f.Fatal(err)
		}
		waitFor(f.T, func() bool { return post(f.T, f.url+"/stripe", event("2")) == 200 })
		f.halt()
		f.want("after the stop", event("3"), 503)
		f.effects(2)
	})
}

// A commit that comes after AckTimeout is one: the repetition is a duplicate.
//
//evidence:webhook
func TestAckTimeout(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		o := quiet()
		o.AckTimeout = 100 * time.Millisecond
		f.use(o, consumer.Config{})
		goOn := make(chan struct{})
		consumer.Handle(f.c, "stripe", func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[fact]) error {
			<-goOn
			return insert(ctx, tx, m)
		}, consumer.From(f.hooks))
		f.start()
		f.want("a slow handler", event("1"), 503)
		close(goOn)
		waitFor(f.T, func() bool { return post(f.T, f.url+"/stripe", event("1")) == 200 })
		f.effects(1)
	})
}

// While the database is away the answer is 503; the repetition has one effect.
//
//evidence:webhook
func TestDatabaseAway(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		o := quiet()
		o.AckTimeout = 200 * time.Millisecond
		f.use(o, consumer.Config{})
		f.handle()
		f.start()
		f.setPoint(func(p fault.Point) error {
			if p == fault.Call {
				return errLost
			}
			return nil
		})
		for range 3 {
			f.want("without a database", event("1"), 503)
		}
		f.effects(0)
		f.setPoint(nil)
		waitFor(f.T, func() bool { return post(f.T, f.url+"/stripe", event("1")) == 200 })
		f.effects(1)
		f.letters()
	})
}

// A COMMIT without an answer, before or after it happened, has one effect and gets 200.
//
//evidence:webhook
func TestCommitWithoutAnswer(t *testing.T) {
	for _, point := range []fault.Point{fault.BeforeCommit, fault.AfterCommit} {
		t.Run(string(point), func(t *testing.T) {
			onEachStore(t, func(f *fixture) {
				f.handle()
				f.start()
				var lost atomic.Int64
				f.setPoint(func(p fault.Point) error {
					if p == point && lost.Add(1) == 1 {
						return errLost
					}
					return nil
				})
				f.want("without an answer", event("1"), 200)
				f.setPoint(nil)
				if lost.Load() == 0 {
					f.Error("the commit was not reached")
				}
				// What was rolled back is in the backlog, and runs again from there.
				waitFor(f.T, func() bool { return f.count() > 0 })
				f.effects(1)
			})
		})
	}
}

// The same id with another body is a conflict letter, and an event without an id an
// undecodable one. The sender has nothing to repeat.
func TestLetters(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		f.handle()
		f.start()
		f.want("the first", event("1"), 200)
		f.want("another body", `{"id":"1","type":"charge.refunded"}`, 200)
		f.letters(dlq.Conflict)
		f.effects(1)
		f.want("no id", `{}`, 200)
		f.want("no id again", `{}`, 200)
		f.effects(1)
		f.letters(dlq.Undecodable, dlq.Conflict) // the newest first
	})
}

// With SameWhen another delivery's pending_webhooks is no conflict.
func TestSameWhen(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		f.handle(consumer.SameWhen(inbox.Fields("id", "type")))
		f.start()
		f.want("the first", `{"id":"1","type":"charge.paid","pending_webhooks":2}`, 200)
		f.want("the second", `{"id":"1","type":"charge.paid","pending_webhooks":1}`, 200)
		f.effects(1)
		f.letters()
	})
}

// A message of a failing handler, of Intake and of HandleLeased is durable in the backlog
// before it is applied: the answer is 200 then.
//
//evidence:webhook
func TestBacklog(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		goOn := make(chan struct{})
		slow := func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[fact]) error {
			<-goOn
			return insert(ctx, tx, m)
		}
		for _, topic := range []string{"intake", "leased"} {
			f.mux.Handle("POST /"+topic, f.hooks.Endpoint(topic, webhook.Stripe(secret)))
		}
		consumer.Handle(f.c, "intake", slow, consumer.From(f.hooks), consumer.Intake())
		consumer.HandleLeased(f.c, "leased", func(_ context.Context, m *headrace.Message[fact]) (headrace.Effects, error) {
			<-goOn
			return func(ctx context.Context, tx *headrace.Tx) error { return insert(ctx, tx, m) }, nil
		}, consumer.From(f.hooks))
		f.start()
		// The leased one first: on SQLite the other one's handler, in its transaction, keeps every
		// further row out until it goes on.
		for _, path := range []string{"/leased", "/intake"} {
			if got := post(f.T, f.url+path, event(path)); got != http.StatusOK {
				f.Errorf("%s: %d", path, got)
			}
		}
		f.effects(0)
		close(goOn)
		waitFor(f.T, func() bool { return f.count() == 2 })
	})
}
