package intent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/intent"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/retry"
)

// Waiters of this process and of another one are told when their intents have ended.
func TestAwait(t *testing.T) {
	onEachStore(t, func(b *bed) {
		elsewhere := b.newClient(b.open(), intent.Options{})
		var wg sync.WaitGroup
		for n := range 20 {
			client := []*intent.Client{b.client, elsewhere}[n%2]
			first := b.start(request("acme", fmt.Sprint(n%10), n%10))
			wg.Go(func() {
				got, err := orders.Await(b.ctx(), client, first.Key)
				if want := fmt.Sprintf(`{"number":%d}`, n%10*10); err != nil || string(got.Answer) != want {
					b.Errorf("%s: %+v, %v", want, got, err)
				}
			})
		}
		b.process(b.st, 1, handles(applied))
		wg.Wait()
	})
}

// Await ends with its context, with what is known; it is bounded; and Close ends it.
func TestAwaitEnds(t *testing.T) {
	onEachStore(t, func(b *bed) {
		first := b.start(request("acme", "k", 1))
		short, cancel := context.WithTimeout(b.ctx(), time.Second)
		defer cancel()
		if got, err := orders.Await(short, b.client, first.Key); !errors.Is(err, context.DeadlineExceeded) || got.State != inbox.Waiting {
			b.Errorf("%+v, %v", got, err)
		}
		spent, cancel := context.WithCancel(b.ctx())
		cancel()
		if _, err := orders.Await(spent, b.client, first.Key); !errors.Is(err, context.Canceled) {
			b.Error(err)
		}
		if _, err := orders.Await(b.ctx(), b.client, "another"); !errors.Is(err, intent.ErrUnknown) {
			b.Error(err)
		}
		few := b.newClient(b.st, intent.Options{MaxWaiters: 2})
		ended := make(chan error, 3)
		for range 3 {
			go func() { _, err := orders.Await(b.ctx(), few, first.Key); ended <- err }()
		}
		if err := <-ended; !errors.Is(err, intent.ErrTooManyWaiters) {
			b.Errorf("the third ends with %v", err)
		}
		if err := errors.Join(few.Close(), few.Close()); err != nil {
			b.Error(err)
		}
		for range 2 {
			if err := <-ended; !errors.Is(err, intent.ErrClosed) {
				b.Errorf("Close ends it with %v", err)
			}
		}
		_, started := orders.Start(b.ctx(), few, request("acme", "k", 1))
		_, asked := orders.Get(b.ctx(), few, first.Key)
		if !errors.Is(started, intent.ErrClosed) || !errors.Is(asked, intent.ErrClosed) {
			b.Error(started, asked)
		}
	})
}

// A query that the end of the context cuts off ends with the context's error, whatever the
// driver calls it.
func TestAwaitCutOff(t *testing.T) {
	onEachStore(t, func(b *bed) {
		first := b.start(request("acme", "k", 1))
		ctx, cancel := context.WithCancel(b.ctx())
		client := b.newClient(cutOffStore{b.st, cancel}, intent.Options{})
		if _, err := orders.Await(ctx, client, first.Key); !errors.Is(err, context.Canceled) {
			b.Error(err)
		}
	})
}

// The waiters of one client share a query, and have no connection meanwhile.
func TestWaitersShareQueries(t *testing.T) {
	onEachStore(t, func(b *bed) {
		counted := &countedStore{Store: b.st}
		client := b.newClient(counted, intent.Options{})
		ctx, cancel := context.WithCancel(b.ctx())
		var wg sync.WaitGroup
		for n := range 40 {
			first := b.start(request("acme", fmt.Sprint(n), n))
			wg.Go(func() {
				if _, err := orders.Await(ctx, client, first.Key); !errors.Is(err, context.Canceled) {
					b.Error(err)
				}
			})
		}
		// The pauses grow to a second, so a query comes to have all of them.
		for deadline := time.Now().Add(bound); counted.most.Load() < 40; {
			if time.Now().After(deadline) {
				b.Fatalf("a query asks for %d of 40 at most", counted.most.Load())
			}
			counted.next(b.ctx())
		}
		if n := counted.open.Load(); n > 1 {
			b.Errorf("%d queries at a time", n)
		}
		cancel()
		wg.Wait()
	})
}

// A dead intent is answered with its letter; a redrive resumes at the first step that is not
// done, and the answer comes.
//
//evidence:intent
func TestDeadAndRedriven(t *testing.T) {
	charge := ledger.Step[string]{Name: "charge", System: "bank", Recover: ledger.Retry, KeyWindow: time.Hour}
	onEachStore(t, func(b *bed) {
		var calls atomic.Int64
		var mended atomic.Bool
		b.process(b.st, 1, func(c *consumer.Consumer) {
			consumer.HandleLeased(c, "orders", func(ctx context.Context, m *headrace.Message[order]) (headrace.Effects, error) {
				paid, err := charge.Do(ctx, func(context.Context, *ledger.Call) (string, error) {
					return fmt.Sprintf("p-%d", calls.Add(1)), nil
				})
				if err != nil {
					return nil, err
				}
				if !mended.Load() {
					return nil, retry.Permanent(errors.New("no address"))
				}
				return intent.Effects(paid), nil
			}, consumer.Local(), consumer.Steps(charge), orders.Option())
		})
		key := b.start(request("acme", "k", 1)).Key
		dead := b.await(key)
		if dead.State != inbox.Dead || dead.Letter == nil || dead.Letter.Class != dlq.Permanent || !strings.Contains(dead.Letter.Error, "no address") {
			b.Fatalf("%+v, letter %+v", dead, dead.Letter)
		}
		if len(dead.Attempts) != 1 || len(dead.Steps) != 1 || dead.Steps[0].State != ledger.Done || dead.Answer != nil {
			b.Errorf("%+v", dead)
		}
		if again := b.start(request("acme", "k", 1)); again.New || again.Letter == nil {
			b.Errorf("started again: %+v", again)
		}
		mended.Store(true)
		if _, err := redrive.New(b.st).Redrive(b.ctx(), redrive.Request{All: true, By: "ana"}); err != nil {
			b.Fatal(err)
		}
		if done := b.await(key); string(done.Answer) != `"p-1"` || calls.Load() != 1 || done.Letter != nil {
			b.Errorf("%+v after %d calls", done, calls.Load())
		}
	})
}

// A discarded intent has ended, with its letter.
func TestDiscarded(t *testing.T) {
	onEachStore(t, func(b *bed) {
		b.process(b.st, 1, handles(func(context.Context, *headrace.Tx, *headrace.Message[order]) error { return errors.New("no") }))
		key := b.start(request("acme", "k", 1)).Key
		b.await(key)
		if _, err := redrive.New(b.st).Discard(b.ctx(), redrive.Request{All: true, By: "ana", Reason: "a test order"}); err != nil {
			b.Fatal(err)
		}
		windowed := b.newClient(b.st, intent.Options{Window: time.Hour})
		got, err := orders.Await(b.ctx(), windowed, key)
		if err != nil || got.State != inbox.Discarded || got.Letter == nil || !got.Until.Equal(got.At.Add(time.Hour)) {
			b.Errorf("%+v, %v", got, err)
		}
	})
}
