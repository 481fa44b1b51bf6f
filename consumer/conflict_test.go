package consumer_test

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// held is a store whose transactions wait until they may begin. All of them do, since the
// consumer's timed work begins some too, and they must not pass for the one that is meant.
type held struct {
	store.Store
	armed atomic.Bool   // what begins from now on is held
	reach chan struct{} // closed when the first is asked for
	once  sync.Once
	goOn  chan struct{}
}

func (h *held) Begin(ctx context.Context) (*txn.Txn, error) {
	if h.armed.Load() {
		h.once.Do(func() { close(h.reach) })
		<-h.goOn
	}
	return h.Store.Begin(ctx)
}

// Between a failed run and the record of it another process takes the key for a message
// with other content. The failure is dropped, and the message is kept as a conflict.
//
//evidence:first-record
func TestFailureMeetsAnotherMessageOfItsKey(t *testing.T) {
	for _, failure := range []error{retry.Permanent(errBoom), retry.After(time.Hour, errBoom), inbox.ErrStale} {
		t.Run(failure.Error(), func(t *testing.T) {
			onEachStore(t, func(b *bundle) { testLateFailure(b, failure) })
		})
	}
}

func testLateFailure(b *bundle, failure error) {
	slow := &held{Store: b.st, reach: make(chan struct{}), goOn: make(chan struct{})}
	src := memsource.New()
	config := b.config()
	config.Source = src
	late, err := consumer.New("test", slow, config)
	if err != nil {
		b.Fatal(err)
	}
	consumer.Handle(late, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
		slow.armed.Store(true)
		return cmp.Or(insert(ctx, tx, m), failure) // what it wrote has to be undone, and so has its claim
	})
	c := b.consumer(b.config())
	consumer.Handle(c, topic, insert)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- late.Run(ctx) }()
	b.start(c)
	failed := src.Deliver(topic, "m", []byte(`{"n":1}`), nil)
	<-slow.reach
	b.acked(b.deliver("m", `{"n":2}`))
	close(slow.goOn)
	b.acked(failed)
	cancel()
	if err := <-ended; err != nil {
		b.Error(err)
	}
	letters := b.letters(dlq.Filter{})
	if len(letters) != 1 || letters[0].Class != dlq.Conflict || b.state("m") != inbox.Done || b.effects("m") != 1 {
		b.Errorf("letters %+v, state %q, %d effects", letters, b.state("m"), b.effects("m"))
	}
	if n := len(b.attempts("m")); n != 0 {
		b.Errorf("%d attempts stand against the message that was applied", n)
	}
}

// Messages that cannot be decoded and share a key are kept one by one.
//
//evidence:undecodable
func TestUndecodableOfOneKey(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		c := b.consumer(b.config())
		consumer.Handle(c, topic, insert)
		b.start(c)
		for range 2 {
			b.acked(b.deliver("m", `{"n":"x1"}`), b.deliver("m", `{"n":"x2"}`), b.deliver("m", `{"n":"x3"}`))
		}
		undecodable, conflicts := b.letters(dlq.Filter{Class: dlq.Undecodable}), b.letters(dlq.Filter{Class: dlq.Conflict})
		if len(undecodable) != 1 || len(conflicts) != 2 {
			b.Errorf("%d undecodable letters and %d conflicts, want 1 and 2", len(undecodable), len(conflicts))
		}
	})
}
