package intent_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/intent"
)

// An answer comes with the effects or not at all: one of a run that fails, or that Nested
// undoes, is gone, and the last one counts.
//
//evidence:intent
func TestAnswer(t *testing.T) {
	onEachStore(t, func(b *bed) {
		var runs atomic.Int64
		b.process(b.st, 3, handles(func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
			if err := intent.Answer(tx, "first"); err != nil {
				return err
			}
			if runs.Add(1) == 1 {
				return errors.New("not yet")
			}
			if m.Body.ID == 2 {
				return inbox.ErrStale
			}
			if err := intent.Answer(tx, "second"); err != nil {
				return err
			}
			_ = tx.Nested(ctx, func(_ context.Context, tx *headrace.Tx) error {
				return errors.Join(intent.Answer(tx, "third"), errors.New("undone"))
			})
			return nil
		}))
		if done := b.await(b.start(request("acme", "a", 1)).Key); string(done.Answer) != `"second"` || len(done.Attempts) != 1 {
			b.Errorf("%+v", done)
		}
		if done := b.await(b.start(request("acme", "b", 2)).Key); done.Answer != nil || !done.Stale || done.State != inbox.Done {
			b.Errorf("%+v", done)
		}
	})
}

// What is no answer is refused, and so is one in a handler of several messages.
func TestAnswerRefused(t *testing.T) {
	onEachStore(t, func(b *bed) {
		seen := make(chan error, 3)
		b.process(b.st, 1, handles(func(_ context.Context, tx *headrace.Tx, _ *headrace.Message[order]) error {
			seen <- intent.Answer(tx, func() {})
			seen <- intent.Answer(tx, strings.Repeat("x", intent.MaxAnswer-1))
			return intent.Answer(tx, strings.Repeat("x", intent.MaxAnswer-2))
		}))
		if done := b.await(b.start(request("acme", "a", 1)).Key); len(done.Answer) != intent.MaxAnswer {
			b.Errorf("an answer of %d bytes", len(done.Answer))
		}
		if first, second := <-seen, <-seen; first == nil || second == nil || !strings.Contains(second.Error(), "1048577 bytes") {
			b.Error(first, second)
		}
	})
}

// A handler of several messages cannot answer.
func TestAnswerOfABatch(t *testing.T) {
	onEachStore(t, func(b *bed) {
		b.process(b.st, 1, func(c *consumer.Consumer) {
			consumer.HandleBatch(c, "orders", func(_ context.Context, tx *headrace.Tx, _ []*headrace.Message[order]) error {
				return intent.Answer(tx, 1)
			}, consumer.Local(), orders.Option())
		})
		dead := b.await(b.start(request("acme", "a", 1)).Key)
		if dead.State != inbox.Dead || !strings.Contains(dead.Letter.Error, headrace.ErrNoAnswer.Error()) {
			b.Errorf("%+v", dead.Letter)
		}
	})
	if err := intent.Answer(nil, 1); !errors.Is(err, headrace.ErrNoTx) {
		t.Error(err)
	}
}
