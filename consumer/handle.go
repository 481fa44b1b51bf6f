package consumer

import (
	"context"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/codec"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/group"
	"github.com/headrace/headrace/retry"
)

// Func handles one message. Its effects go through tx; returning an error rolls
// them back and spends an attempt (see package retry for the exceptions).
type Func[T any] func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[T]) error

// BatchFunc handles several messages in one transaction. A BatchError says which of
// them failed; after any other error they are run again one by one, to find out.
type BatchFunc[T any] func(ctx context.Context, tx *headrace.Tx, ms []*headrace.Message[T]) error

// Option changes one registration.
type Option func(*registration)

type registration struct {
	name        string
	alone       bool
	strict      bool
	intake      bool
	lease       time.Duration                                                // 0 for the default
	work        func(context.Context, group.Input) (headrace.Effects, error) // of a leased handler
	concurrency int
	timeout     time.Duration
	policy      retry.Policy
	codec       codec.Codec
	key         inbox.KeyFunc
	fingerprint inbox.FingerprintFunc
	orderKey    func(*headrace.Delivery) string
	source      message.Subscriber // its own; nil for the consumer's
	local       bool               // it has none
	mistakes    mistakes
}

// Name names the handler; with the consumer's name it is the scope of its keys, and
// must never change while messages of it are known. Default: the topic.
func Name(name string) Option {
	return func(r *registration) { r.name = name }
}

// Alone gives each message a transaction of its own: for a handler that calls other
// systems, changes the session, or uses Tx.Raw or Tx.SQL.
func Alone() Option {
	return func(r *registration) { r.alone = true }
}

// Timeout overrides Config.HandlerTimeout.
func Timeout(d time.Duration) Option {
	return func(r *registration) {
		if d <= 0 {
			r.mistakes = append(r.mistakes, fmt.Errorf("Timeout(%s) is not positive", d))
		} else if d < leastTime {
			r.mistakes = append(r.mistakes, fmt.Errorf("Timeout(%s): give it a unit, as in 30*time.Second", d))
		}
		r.timeout = d
	}
}

// Retry overrides Config.Retry.
func Retry(p retry.Policy) Option {
	return func(r *registration) {
		if err := p.Validate(); err != nil {
			r.mistakes = append(r.mistakes, err)
		}
		r.policy = p.WithDefaults()
	}
}

// Codec overrides Config.Codec.
func Codec(c codec.Codec) Option {
	return func(r *registration) { r.codec = c }
}

// Key overrides Config.Key and, where it is not nil, Config.Fingerprint.
func Key(key inbox.KeyFunc, fingerprint inbox.FingerprintFunc) Option {
	return func(r *registration) {
		r.key = key
		if fingerprint != nil {
			r.fingerprint = fingerprint
		}
	}
}

// Handle registers f for the messages of topic. What is wrong with a registration
// comes out of Run.
//
// f promises to touch nothing but the database, through its Tx: it shares its
// transaction with the handlers of other messages, and is run again if one of them
// makes the transaction fail. Use Alone for a handler that cannot promise that.
func Handle[T any](c *Consumer, topic string, f Func[T], options ...Option) {
	run := func(ctx context.Context, tx *headrace.Tx, inputs []group.Input) error {
		return f(ctx, tx, messageOf[T](&inputs[0]))
	}
	register[T](c, topic, f == nil, false, run, options)
}

// HandleBatch registers f for the messages of topic, up to Config.MaxBatch of them
// at a time. It promises what Handle asks for. Messages of one order key stand in
// order of arrival.
func HandleBatch[T any](c *Consumer, topic string, f BatchFunc[T], options ...Option) {
	run := func(ctx context.Context, tx *headrace.Tx, inputs []group.Input) error {
		messages := make([]*headrace.Message[T], len(inputs))
		for i := range inputs {
			messages[i] = messageOf[T](&inputs[i])
		}
		return f(ctx, tx, messages)
	}
	register[T](c, topic, f == nil, true, run, options)
}

func messageOf[T any](in *group.Input) *headrace.Message[T] {
	body, _ := in.Body.(T) // Decode made it
	return &headrace.Message[T]{Delivery: in.Delivery, Body: body}
}

func register[T any](c *Consumer, topic string, missing, batch bool, run func(context.Context, *headrace.Tx, []group.Input) error, options []Option) {
	r := registration{
		name: topic, strict: c.config.Strict, timeout: c.config.HandlerTimeout, policy: c.config.Retry, codec: c.config.Codec,
		key: c.config.Key, fingerprint: c.config.Fingerprint, orderKey: c.config.OrderKey,
	}
	for _, option := range options {
		option(&r)
	}
	if missing {
		r.mistakes = append(r.mistakes, fmt.Errorf("the function is nil"))
	}
	if r.codec == nil {
		r.mistakes = append(r.mistakes, fmt.Errorf("Codec(nil)"))
		r.codec = c.config.Codec
	}
	if r.key == nil {
		r.mistakes = append(r.mistakes, fmt.Errorf("Key(nil, …)"))
		r.key = c.config.Key
	}
	decode := func(d *headrace.Delivery) (any, error) {
		var body T
		if err := r.codec.Decode(d.Payload, &body); err != nil {
			return nil, err
		}
		return body, nil
	}
	h := &group.Handler{
		Consumer: c.name, Name: r.name, Topic: topic, Scope: c.name + "/" + r.name,
		Alone: r.alone, Batch: batch, Strict: r.strict, Intake: r.intake, Timeout: r.timeout, Policy: r.policy,
		Decode: decode, Encode: r.codec.Encode, Run: run,
	}
	r.leased(c, h)
	c.add(topic, r, h)
}
