package regress

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/retry"
)

// strictBody is what no message of a deploy's test can be decoded into.
type strictBody struct {
	N chan int `json:"n"`
}

// handleBatch registers f for batches.
func handleBatch(c *consumer.Consumer, f consumer.Func[body]) {
	consumer.HandleBatch(c, topic, func(ctx context.Context, tx *headrace.Tx, ms []*headrace.Message[body]) error {
		for _, m := range ms {
			if err := f(ctx, tx, m); err != nil {
				return err
			}
		}
		return nil
	})
}

// A deploy may change how a handler is registered while its messages wait, m0 for its retry and
// m1 put off. The new release finds them under the keys that they have, and each is applied once;
// a delivery that comes again is a duplicate.
//
//evidence:once
func TestDeployChangesTheHandler(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(config *consumer.Config) (handle func(c *consumer.Consumer, f consumer.Func[body])){
		"more at a time": func(config *consumer.Config) func(*consumer.Consumer, consumer.Func[body]) {
			config.Concurrency = 16
			return inBatch.handle
		},
		"Alone":        func(*consumer.Config) func(*consumer.Consumer, consumer.Func[body]) { return alone.handle },
		"Intake":       func(*consumer.Config) func(*consumer.Consumer, consumer.Func[body]) { return fromBacklog.handle },
		"HandleLeased": func(*consumer.Config) func(*consumer.Consumer, consumer.Func[body]) { return leased.handle },
		"HandleBatch":  func(*consumer.Config) func(*consumer.Consumer, consumer.Func[body]) { return handleBatch },
		"Strict": func(config *consumer.Config) func(*consumer.Consumer, consumer.Func[body]) {
			config.Strict = true
			return inBatch.handle
		},
		"another order key": func(config *consumer.Config) func(*consumer.Consumer, consumer.Func[body]) {
			config.OrderKey = func(d *headrace.Delivery) string { return d.ID }
			return inBatch.handle
		},
		"another fingerprint": func(config *consumer.Config) func(*consumer.Consumer, consumer.Func[body]) {
			return func(c *consumer.Consumer, f consumer.Func[body]) {
				consumer.Handle(c, topic, f, consumer.SameWhen(inbox.Fields("n")))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEachStore(t, func(f *fixture) {
				before := f.waiting()
				config := f.config()
				config.BatchTime, config.Retry = 0, attempts(3)
				source := memsource.New()
				config.Source = source
				handle := change(&config)
				c := f.consumer(f.open(), config)
				handle(c, insert)
				f.start(c)
				f.later(time.Hour)
				f.eventually("both have ended", func() bool { return f.allEnded(before) })
				for _, id := range before {
					f.acked(source.Deliver(topic, id, []byte(`{"n":0}`), map[string]string{orderKey: "key"}))
					if n := f.effects(id); n != 1 {
						f.Errorf("%s has %d effects, state %s", id, n, f.state(id))
					}
				}
				if name != "another fingerprint" {
					f.noLetters()
				}
			})
		})
	}
}

// waiting runs a release whose messages m0 and m1 wait in the end.
func (f *fixture) waiting() (ids []string) {
	f.Helper()
	config := f.config()
	config.Retry = retry.Policy{MaxAttempts: 9, Backoff: retry.Backoff{Initial: 10 * time.Minute, Max: 10 * time.Minute, Factor: 1}}
	c := f.consumer(f.open(), config)
	consumer.Handle(c, topic, func(_ context.Context, _ *headrace.Tx, m *headrace.Message[body]) error {
		if m.ID == "m1" {
			return retry.Postpone(10*time.Minute, errBoom)
		}
		return errBoom
	})
	p := f.start(c)
	ids = []string{"m0", "m1"}
	for _, id := range ids {
		f.acked(f.deliverOrdered(id, 0, "key"))
	}
	if err := p.halt(); err != nil {
		f.Error(err)
	}
	return ids
}

// A deploy may lower MaxAttempts below what has been spent: the next failure is the last one. And
// it may change the codec, so that messages cannot be decoded any more: they become dead letters
// with their bytes, and are applied when they are redriven by a release that can.
//
//evidence:once
func TestDeployChangesAttemptsAndCodec(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(f *fixture) {
		ids := f.waiting()
		fail, clock := new(atomic.Bool), time.Hour
		fail.Store(true)
		release := func(register func(c *consumer.Consumer)) *process {
			config := f.config()
			config.Source, config.Retry = memsource.New(), attempts(1)
			c := f.consumer(f.open(), config)
			register(c)
			p := f.start(c)
			f.later(clock)
			clock += time.Hour
			return p
		}
		plain := func(c *consumer.Consumer) {
			consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
				if fail.Load() {
					return errBoom
				}
				return insert(ctx, tx, m)
			})
		}
		p := release(plain)
		f.eventually("both are dead", func() bool { return f.state("m0") == inbox.Dead && f.state("m1") == inbox.Dead })
		if a, b := len(f.attempts("m0")), len(f.attempts("m1")); a != 2 || b != 1 {
			f.Errorf("%d and %d attempts", a, b)
		}
		again := func() {
			result, err := redrive.New(f.st).Redrive(f.Context(), redrive.Request{All: true, By: "ana"})
			if err != nil || result.Done != 2 {
				f.Errorf("%+v, %v", result, err)
			}
		}
		_ = p.halt()
		again()
		p = release(func(c *consumer.Consumer) {
			consumer.Handle(c, topic, func(context.Context, *headrace.Tx, *headrace.Message[strictBody]) error { return nil })
		})
		f.eventually("none can be decoded", func() bool {
			return f.count("SELECT count(*) FROM headrace_dead_letters WHERE class = 'undecodable' AND state = 'open'") == 2
		})
		_ = p.halt()
		fail.Store(false)
		again()
		release(plain)
		f.eventually("both are applied", func() bool { return f.effects("m0") == 1 && f.effects("m1") == 1 })
		f.eventually("both are done", func() bool { return f.allEnded(ids) })
	})
}
