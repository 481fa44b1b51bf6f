package regress

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/codec"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/retry"
)

// exits is an error one of whose methods calls runtime.Goexit.
type exits struct{ in string }

func (e exits) at(method string) {
	if e.in == method {
		runtime.Goexit()
	}
}

func (e exits) Error() string { e.at("Error"); return "exits in " + e.in }
func (e exits) Is(error) bool { e.at("Is"); return false }
func (e exits) As(any) bool   { e.at("As"); return false }
func (e exits) Unwrap() error { e.at("Unwrap"); return nil }
func (e exits) Code() string  { e.at("Code"); return "" }

// wraps is an error whose text does not contain that of the error inside.
type wraps struct{ inside error }

func (w wraps) Error() string { return "wraps" }
func (w wraps) Unwrap() error { return w.inside }

// A method of a handler's error may call runtime.Goexit: its Error, Is, As or Unwrap. That is
// a failed attempt of its message, and the others go on.
//
// Without that it ended the worker, which called the method to describe the failure. The
// messages of its batch waited without end, and no one was told.
//
//evidence:panic
func TestGoexitInAnError(t *testing.T) {
	t.Parallel()
	cases := 0
	for name, fail := range map[string]func() error{
		"Error":            func() error { return exits{"Error"} },
		"Is":               func() error { return exits{"Is"} },
		"As":               func() error { return exits{"As"} },
		"Unwrap":           func() error { return exits{"Unwrap"} },
		"Code":             func() error { return exits{"Code"} },
		"Error of a part":  func() error { return wraps{exits{"Error"}} },
		"postponed":        func() error { return retry.Postpone(time.Millisecond, exits{"Error"}) },
		"permanent":        func() error { return retry.Permanent(exits{"Error"}) },
		"joined":           func() error { return errors.Join(errBoom, exits{"Error"}) },
		"value of a panic": func() error { panic(exits{"Error"}) },
	} {
		cases++
		ways := inTurn(cases, everyWay)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEachWay(t, onEachStore, ways, func(f *fixture, w way) {
				const culprit, n = "m3", 6
				config := f.configOf(w)
				config.Concurrency = 1
				_, all := together(f, f.consumer(f.st, config), w, n, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
					if err := insert(ctx, tx, m); err != nil || m.ID != culprit {
						return err
					}
					return fail()
				})
				f.acked(all...)
				f.appliedOnce(neighbours(n, culprit)...)
				f.eventually("the culprit is dead", func() bool { return f.state(culprit) == inbox.Dead })
				if n := len(f.attempts(culprit)); n != 1 {
					f.Errorf("%d attempts", n)
				}
			})
		})
	}
}

// The rule holds for the errors that a batch handler names, and for the work under a lease.
//
//evidence:panic
func TestGoexitInAnErrorOfManyOrOfWork(t *testing.T) {
	t.Parallel()
	for name, handle := range map[string]func(c *consumer.Consumer){
		"batch": func(c *consumer.Consumer) {
			consumer.HandleBatch(c, topic, func(ctx context.Context, tx *headrace.Tx, ms []*headrace.Message[body]) error {
				failed := consumer.BatchError{}
				for i, m := range ms {
					if m.ID == "m3" {
						failed[i] = exits{"Error"}
					} else if err := insert(ctx, tx, m); err != nil {
						return err
					}
				}
				if len(failed) > 0 {
					return failed
				}
				return nil
			})
		},
		"work": func(c *consumer.Consumer) {
			consumer.HandleLeased(c, topic, func(_ context.Context, m *headrace.Message[body]) (headrace.Effects, error) {
				if m.ID == "m3" {
					return nil, exits{"Error"}
				}
				return func(ctx context.Context, tx *headrace.Tx) error { return insert(ctx, tx, m) }, nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEachStore(t, func(f *fixture) {
				c := f.consumer(f.st, f.config())
				handle(c)
				for i, id := range series("m", 6) {
					f.deliver(id, i)
				}
				f.start(c)
				f.appliedOnce(neighbours(6, "m3")...)
				f.eventually("the culprit is dead", func() bool { return f.state("m3") == inbox.Dead })
			})
		})
	}
}

// What a message's key function or codec returns may do the same. The consumer then ends with an
// error that says so, as it does where the function itself calls runtime.Goexit.
//
//evidence:panic
func TestGoexitInAnErrorOfAKeyFunction(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(f *fixture) {
		config := f.config()
		config.Key = func(*headrace.Delivery) (string, error) { return "", exits{"Error"} }
		c := f.consumer(f.st, config)
		consumer.Handle(c, topic, insert)
		p := f.start(c)
		f.deliver("m", 0)
		if err := f.end(p); !errors.Is(err, retry.ErrGoexit) {
			f.Errorf("Run returned %v", err)
		}
	})
}

// end waits until Run returns by itself.
func (f *fixture) end(p *process) error {
	f.Helper()
	select {
	case p.err = <-p.ended:
		p.over = true
	case <-time.After(bound):
		f.Fatal("the consumer goes on, and says nothing")
	}
	return p.err
}

// turncoat is a codec of JSON that fails as it is told from the second decoding on.
type turncoat struct {
	codec.Codec
	calls atomic.Int64
	fail  func() error
}

func (c *turncoat) Decode(payload []byte, into any) error {
	if c.calls.Add(1) > 1 {
		return c.fail()
	}
	return c.Codec.Decode(payload, into)
}

// A codec may call runtime.Goexit in a worker, where a row of the backlog is decoded: the consumer
// ends with an error that says so. Without that its worker was gone, and the shard with it.
//
//evidence:panic
func TestGoexitInACodec(t *testing.T) {
	t.Parallel()
	onEachWay(t, onEachStore, []way{fromBacklog, leased}, func(f *fixture, w way) {
		config := f.config()
		config.Codec = &turncoat{Codec: codec.JSON(), fail: func() error { runtime.Goexit(); return nil }}
		c := f.consumer(f.st, config)
		w.handle(c, insert)
		p := f.start(c)
		f.deliver("m", 0)
		if err := f.end(p); !errors.Is(err, retry.ErrGoexit) {
			f.Errorf("Run returned %v", err)
		}
	})
}

// panics is an error whose methods panic.
type panics struct{}

func (panics) Error() string { return "panics" }
func (panics) As(any) bool   { panic("in As") }
func (panics) Is(error) bool { panic("in Is") }

// A method of a codec's error may panic: the message is undecodable. Without that the panic ended
// the process.
//
//evidence:panic
func TestPanicInAnErrorOfACodec(t *testing.T) {
	t.Parallel()
	onEachWay(t, onEachStore, []way{inBatch, fromBacklog}, func(f *fixture, w way) {
		config := f.config()
		config.Codec = &turncoat{Codec: codec.JSON(), fail: func() error { return panics{} }}
		c := f.consumer(f.st, config)
		w.handle(c, insert)
		f.start(c)
		f.acked(f.deliver("first", 0), f.deliver("m", 0))
		f.eventually("it is a dead letter", func() bool { return f.state("m") == inbox.Dead })
		for _, l := range f.letters() {
			if l.Class != dlq.Undecodable {
				f.Errorf("a letter of class %s: %s", l.Class, l.Error)
			}
		}
	})
}

// The rule of TestGoexitInAnError holds wherever a handler's goroutine may end: in a part of its
// transaction, in its work, in a step, and in the effects of its work.
//
//evidence:panic
func TestGoexitInPartsOfAHandler(t *testing.T) {
	t.Parallel()
	exit := func(id string) error {
		if id == "m3" {
			runtime.Goexit()
		}
		return nil
	}
	step := ledger.Step[int]{Name: "step", System: "bank", Recover: ledger.Retry, KeyWindow: ledger.Forever}
	for name, handle := range map[string]func(c *consumer.Consumer){
		"part": func(c *consumer.Consumer) {
			consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
				return tx.Nested(ctx, func(ctx context.Context, tx *headrace.Tx) error {
					return errors.Join(insert(ctx, tx, m), exit(m.ID))
				})
			})
		},
		"work": func(c *consumer.Consumer) {
			consumer.HandleLeased(c, topic, func(_ context.Context, m *headrace.Message[body]) (headrace.Effects, error) {
				return func(ctx context.Context, tx *headrace.Tx) error { return insert(ctx, tx, m) }, exit(m.ID)
			})
		},
		"effects": func(c *consumer.Consumer) {
			consumer.HandleLeased(c, topic, func(_ context.Context, m *headrace.Message[body]) (headrace.Effects, error) {
				return func(ctx context.Context, tx *headrace.Tx) error { return errors.Join(insert(ctx, tx, m), exit(m.ID)) }, nil
			})
		},
		"step": func(c *consumer.Consumer) {
			consumer.HandleLeased(c, topic, func(ctx context.Context, m *headrace.Message[body]) (headrace.Effects, error) {
				_, err := step.Do(ctx, func(context.Context, *ledger.Call) (int, error) { return 1, exit(m.ID) })
				return func(ctx context.Context, tx *headrace.Tx) error { return insert(ctx, tx, m) }, err
			}, consumer.Steps(step))
		},
		"error of a step": func(c *consumer.Consumer) {
			consumer.HandleLeased(c, topic, func(ctx context.Context, m *headrace.Message[body]) (headrace.Effects, error) {
				_, err := step.Do(ctx, func(context.Context, *ledger.Call) (int, error) {
					if m.ID == "m3" {
						return 0, exits{"Error"}
					}
					return 1, nil
				})
				return func(ctx context.Context, tx *headrace.Tx) error { return insert(ctx, tx, m) }, err
			}, consumer.Steps(step))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEachStore(t, func(f *fixture) {
				c := f.consumer(f.st, f.config())
				handle(c)
				f.start(c)
				for i, id := range series("m", 6) {
					f.deliver(id, i)
				}
				f.appliedOnce(neighbours(6, "m3")...)
				f.eventually("the culprit is dead", func() bool { return f.state("m3") == inbox.Dead && f.effects("m3") == 0 })
			})
		})
	}
}
