package consumertest_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/consumer/consumertest"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/retry"
)

// sent are the idempotency keys that handlers had, in order, by the id of the message.
type sent struct {
	mu   sync.Mutex
	keys map[string][]string
}

func (s *sent) add(id, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil {
		s.keys = make(map[string][]string)
	}
	s.keys[id] = append(s.keys[id], key)
}

// wires are the programs of every kind of handler, which keep the keys that they see.
func (s *sent) wires() map[string]consumertest.Wire {
	return map[string]consumertest.Wire{
		"handle": wired(func(c *consumer.Consumer, _ *consumertest.Process) {
			consumer.Handle(c, topic, func(_ context.Context, _ *headrace.Tx, m *headrace.Message[order]) error {
				s.add(m.Body.ID, m.IdempotencyKey())
				return nil
			})
		}),
		"batch": wired(func(c *consumer.Consumer, _ *consumertest.Process) {
			consumer.HandleBatch(c, topic, func(_ context.Context, _ *headrace.Tx, ms []*headrace.Message[order]) error {
				for _, m := range ms {
					s.add(m.Body.ID, m.IdempotencyKey())
				}
				return nil
			})
		}),
		"leased": wired(func(c *consumer.Consumer, _ *consumertest.Process) {
			consumer.HandleLeased(c, topic, func(_ context.Context, m *headrace.Message[order]) (headrace.Effects, error) {
				s.add(m.Body.ID, m.IdempotencyKey())
				return nil, nil
			})
		}),
		"router": func(p *consumertest.Process) (*consumer.Consumer, error) {
			router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
			if err != nil {
				return nil, err
			}
			router.AddConsumerHandler(topic, topic, p.Source, func(m *message.Message) error {
				s.add(m.UUID[len("webhook-"):], headrace.IdempotencyKeyFrom(m.Context()))
				return nil
			})
			p.Run = router.Run
			return consumer.Attach(router, p.Store, consumer.Config{Name: "billing", Sink: p.Sink, Logger: p.Logger, Key: key(), Retry: policy})
		},
	}
}

// A message keeps its idempotency key over a crash, retries, a redelivery and a redrive,
// whatever the kind of handler, and other messages have others. A new id of the database
// changes it.
//
//evidence:idempotency-key
func TestIdempotencyKeys(t *testing.T) {
	kinds := 0
	for kind := range (&sent{}).wires() {
		nth := kinds
		kinds++
		t.Run(kind, func(t *testing.T) {
			onEachOf(t, nth, func(t *testing.T, db consumertest.Database) {
				var s sent
				k := kit(t, db, s.wires()[kind])
				k.CrashAt(consumertest.BeforeCommit)
				k.FailAttempt(paid("1"), 1, consumertest.AfterEffects, errors.New("once"))
				k.FailAttempt(paid("1"), 2, consumertest.AfterEffects, errors.New("twice"))
				k.FailAttempt(paid("1"), 3, consumertest.AfterEffects, retry.Permanent(errTotal))
				k.Deliver(paid("1"), paid("2"))
				k.Settle()
				k.DeadLettered(paid("1"), dlq.Permanent, errTotal)
				k.Redrive(paid("1"))
				k.Settle()
				k.Redeliver(paid("2"))
				if len(s.keys["1"]) < 4 {
					t.Errorf("%d runs", len(s.keys["1"]))
				}
				want := make(map[string]string)
				for _, id := range []string{"1", "2"} {
					want[id] = s.expected(t, k, id)
					for _, got := range s.keys[id] {
						if got != want[id] {
							t.Errorf("message %s: %s, want %s", id, got, want[id])
						}
					}
				}
				k.Exec("UPDATE headrace_meta SET id = 'another'")
				k.CrashAt(consumertest.AfterReceive)
				k.Deliver(paid("3"))
				k.Settle()
				if got := s.keys["3"][0]; got != s.expected(t, k, "3") || want["1"] == s.expected(t, k, "1") {
					t.Errorf("with a new id: %s", got)
				}
			})
		})
	}
}

// expected is the key of a message by the database's id.
func (s *sent) expected(t *testing.T, k *consumertest.Kit, id string) string {
	t.Helper()
	d := headrace.Delivery{Scope: "billing/" + topic}
	if err := k.DB().QueryRow("SELECT id FROM headrace_meta").Scan(&d.Database); err != nil {
		t.Fatal(err)
	}
	if err := k.DB().QueryRow("SELECT key FROM headrace_inbox WHERE key LIKE $1", "%"+id).Scan(&d.Key); err != nil {
		t.Fatal(err)
	}
	return d.IdempotencyKey()
}
