package schedule

import (
	"context"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/codec"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
)

// Tick is the body of a message.
type Tick struct {
	// Name is that of the schedule.
	Name string `json:"name"`
	// At is when it was due.
	At time.Time `json:"at"`
	// Late says that it was caught up: no process ran when it was due.
	Late bool `json:"late,omitempty"`
	// Fired says that a person asked for it: "headrace schedule fire".
	Fired bool `json:"fired,omitempty"`
}

// DecodePayload implements codec.SelfDecoder: the codec of a consumer is for its other messages.
func (t *Tick) DecodePayload(payload []byte) error { return codec.JSON().Decode(payload, t) }

// Handle registers f for the ticks of the schedule of that name, of the source. Runs of one
// schedule do not overlap: its ticks have one order key. With CatchUp Last, a tick whose
// successor is due when it starts is skipped, so no queue builds up; f sees the newest.
//
// It is for work that fits in a transaction; for more, use HandleLeased. The options are those
// of consumer.Handle, except From, Key, SameWhen and OrderKey.
func Handle(c *consumer.Consumer, source *Source, name string, f func(ctx context.Context, tx *headrace.Tx, t Tick) error, options ...consumer.Option) {
	run := func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[Tick]) error {
		if source.outdated(m.Body) {
			return inbox.ErrStale
		}
		return f(ctx, tx, m.Body)
	}
	if f == nil {
		run = nil // which is a mistake
	}
	consumer.Handle(c, name, run, source.options(options)...)
}

// HandleLeased is Handle for work that takes long, or calls other systems: see
// consumer.HandleLeased. Its order also holds across processes and retries. A tick whose steps
// have begun (ledger.Begun) is not skipped.
func HandleLeased(c *consumer.Consumer, source *Source, name string, f func(ctx context.Context, m *headrace.Message[Tick]) (headrace.Effects, error), options ...consumer.Option) {
	run := func(ctx context.Context, m *headrace.Message[Tick]) (headrace.Effects, error) {
		if source.outdated(m.Body) {
			if begun, err := ledger.Begun(ctx); err != nil {
				return nil, err
			} else if !begun {
				return func(context.Context, *headrace.Tx) error { return inbox.ErrStale }, nil
			}
		}
		return f(ctx, m)
	}
	if f == nil {
		run = nil // which is a mistake
	}
	consumer.HandleLeased(c, name, run, source.options(options)...)
}

// options are those of a handler of ticks.
func (s *Source) options(more []consumer.Option) []consumer.Option {
	return append(append(Identity(), consumer.From(s)), more...)
}

// Identity returns the options by which a handler knows a tick, for handlers that are
// registered with package consumer and not with Handle or HandleLeased. A tick is known by its
// id, whatever the consumer's own key is, and those of a schedule have one order key. One that
// comes again when a process starts says then that it is late, and is the same message all the same.
func Identity() []consumer.Option {
	order := func(d *headrace.Delivery) string { return d.OrderKey }
	return []consumer.Option{consumer.Key(inbox.MessageID()), consumer.SameWhen(inbox.Fields("name", "at")), consumer.OrderKey(order)}
}
