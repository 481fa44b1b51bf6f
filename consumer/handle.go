package consumer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/codec"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/mistake"
	"github.com/headrace/headrace/internal/runtime"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/retry"
)

// Func handles one message. Its effects go through tx. If it returns an error, they are
// rolled back and the message has spent an attempt (see package retry for the
// exceptions).
type Func[T any] func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[T]) error

// BatchFunc handles several messages in one transaction. A BatchError says which of them
// failed. After any other error they run again one by one, to find the failing one.
type BatchFunc[T any] func(ctx context.Context, tx *headrace.Tx, ms []*headrace.Message[T]) error

// Option changes one registration.
type Option func(*registration)

type registration struct {
	*runtime.Handler
	codec    codec.Codec
	local    bool     // no source
	given    []string // options
	mistakes []error
}

// once records that the option of this name was given. A second time is a mistake: one of
// the two would be ignored.
func (r *registration) once(option string) {
	if slices.Contains(r.given, option) {
		r.mistake("%s is given twice", option)
	}
	r.given = append(r.given, option)
}

// valued makes the option of this name, whose value must not be nil.
func valued(name string, isSet bool, apply func(r *registration)) Option {
	return func(r *registration) {
		if r.once(name); !isSet {
			r.mistake("%s(nil)", name)
			return
		}
		apply(r)
	}
}

// mistake records a mistake, which Run returns.
func (r *registration) mistake(format string, args ...any) {
	r.mistakes = append(r.mistakes, fmt.Errorf(format, args...))
}

// Name names the handler. With the consumer's name it is the scope of the handler's keys,
// and must never change while their messages are known. Default: the topic.
func Name(name string) Option {
	return func(r *registration) {
		r.once("Name")
		r.Name = name
	}
}

// Alone gives each message a transaction of its own: for a handler that calls other
// systems, changes the session, or uses Tx.Raw or Tx.SQL.
func Alone() Option {
	return func(r *registration) {
		r.once("Alone")
		switch {
		case r.Leased != nil:
			r.mistake("Alone: a handler of HandleLeased has no transaction while it works, and its Effects have one of their own anyway")
		case r.Batch:
			r.mistake("Alone: a handler of HandleBatch gets several messages in one transaction; use Handle")
		}
		r.Alone = true
	}
}

// Rehearsable declares that a run of the handler may be rolled back without a trace: it touches
// nothing but the database, or leaves the rest out where headrace.Rehearsing. An operator can
// then try it on dead letters before they are redriven (headrace dlq rehearse).
func Rehearsable() Option {
	return func(r *registration) {
		r.once("Rehearsable")
		r.Rehearsable = true
	}
}

// Timeout overrides Config.HandlerTimeout.
func Timeout(d time.Duration) Option {
	return func(r *registration) {
		r.once("Timeout")
		if d <= 0 {
			r.mistake("Timeout(%s) is not positive", d)
		} else if d < leastTime {
			r.mistake("Timeout(%s): give it a unit, as in 30*time.Second", d)
		}
		r.Timeout = d
	}
}

// Retry overrides Config.Retry. Overrides of class retry.Lost are for handlers of
// HandleLeased.
func Retry(p retry.Policy) Option {
	return func(r *registration) {
		r.once("Retry")
		if _, set := p.Overrides[retry.Lost]; set && r.Leased == nil {
			r.mistake("Retry: Overrides[%q] is for handlers of HandleLeased, since only a lease is lost: leave it out", retry.Lost)
		}
		if err := p.Validate(); err != nil {
			r.mistake("%w", err)
		}
		r.Policy = p.WithDefaults()
	}
}

// Codec overrides Config.Codec.
func Codec(c codec.Codec) Option {
	return valued("Codec", c != nil, func(r *registration) {
		if err := mistake.Nil(c); err != nil {
			r.mistake("Codec: %w", err)
			return
		}
		r.codec = c
	})
}

// Key overrides Config.Key.
func Key(key inbox.KeyFunc) Option {
	return valued("Key", key != nil, func(r *registration) { r.Key = key })
}

// OrderKey overrides Config.OrderKey.
func OrderKey(key func(d *headrace.Delivery) string) Option {
	return valued("OrderKey", key != nil, func(r *registration) { r.OrderKey = key })
}

// SameWhen overrides Config.SameWhen: two messages of one key are the same message when
// their fingerprints are equal, as with inbox.Fields("id", "total"). Otherwise the second
// is a conflict, which becomes a dead letter.
func SameWhen(fingerprint inbox.FingerprintFunc) Option {
	return valued("SameWhen", fingerprint != nil, func(r *registration) { r.Fingerprint = fingerprint })
}

// Intents is for package intent: programs call Kind.Option. It is Name, Key and SameWhen in
// one, and Codec unless c is nil. Run refuses it in another consumer than that of this name.
func Intents(consumer, handler string, key inbox.KeyFunc, sameWhen inbox.FingerprintFunc, c codec.Codec) Option {
	return func(r *registration) {
		r.once("Intents")
		for _, option := range []Option{Name(handler), Key(key), SameWhen(sameWhen)} {
			option(r)
		}
		if c != nil {
			Codec(c)(r)
		}
		if r.Consumer != consumer {
			r.mistake("its intent.Kind is of consumer %q, and this is %q: intents would wait there for ever", consumer, r.Consumer)
		}
	}
}

// Handle registers f for the messages of topic. Run returns the mistakes in a
// registration. It panics if c is nil.
//
// f promises to touch nothing but the database, through its Tx: it shares its transaction
// with the handlers of other messages, and runs again if one of them makes the
// transaction fail. Use Alone for a handler that cannot promise that.
func Handle[T any](c *Consumer, topic string, f Func[T], options ...Option) {
	run := func(ctx context.Context, tx *headrace.Tx, inputs []task.Input) error {
		return f(ctx, tx, messageOf[T](&inputs[0]))
	}
	register[T](c, topic, f == nil, false, run, options)
}

// HandleBatch registers f for the messages of topic, up to Config.MaxBatch of them at a
// time. f promises the same as for Handle. Messages of one order key are in order of
// arrival.
func HandleBatch[T any](c *Consumer, topic string, f BatchFunc[T], options ...Option) {
	run := func(ctx context.Context, tx *headrace.Tx, inputs []task.Input) error {
		messages := make([]*headrace.Message[T], len(inputs))
		for i := range inputs {
			messages[i] = messageOf[T](&inputs[i])
		}
		return f(ctx, tx, messages)
	}
	register[T](c, topic, f == nil, true, run, options)
}

func messageOf[T any](in *task.Input) *headrace.Message[T] {
	body, _ := in.Body.(T) // Decode made it
	return &headrace.Message[T]{Delivery: in.Delivery, Body: body}
}

func register[T any](c *Consumer, topic string, missing, batch bool, run func(context.Context, *headrace.Tx, []task.Input) error, options []Option) {
	if c == nil { // there is no Run that could return it
		panic(fmt.Sprintf("register a handler for topic %q: the Consumer is nil: look at the error of consumer.New", topic))
	}
	r := &registration{Handler: c.handler(topic), codec: c.config.Codec}
	r.Topic, r.Batch, r.Run = topic, batch, run
	for i, option := range options {
		if option == nil {
			r.mistake("option %d of %d is nil", i+1, len(options))
			continue
		}
		option(r)
	}
	if missing {
		r.mistake("the function is nil")
	}
	decode, err := codec.Decoder(r.codec, new(T))
	if err != nil {
		r.mistake("Codec: %w", err)
	}
	r.Decode = func(d *headrace.Delivery) (any, error) {
		var body T
		if err := decode(d, &body); err != nil {
			return nil, err
		}
		return body, nil
	}
	r.Encoder = r.codec
	c.add(r)
}
