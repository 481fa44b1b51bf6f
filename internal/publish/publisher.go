package publish

import (
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/internal/telemetry"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/retry"
)

// Options configure a Publisher. All are required.
type Options struct {
	// Timeout bounds a call of Publish, MaxStuck the number of abandoned calls.
	Timeout  time.Duration
	MaxStuck int
	// Concurrency is how many calls a run makes at a time.
	Concurrency int
	// MaxAttempts is after how many refusals a row is parked.
	MaxAttempts int
	// Sends records the sends.
	Sends *telemetry.Sender
}

// BatchTime bounds how long a run begins calls of Publish. It may do so twice.
const BatchTime = 5 * time.Second

// Publisher publishes batches, several at a time, but one for each shard.
type Publisher struct {
	o    Options
	sink *sink
	// refused has for each shard the rows refused in the last run without spending an
	// attempt, and how many rows the sink had confirmed then.
	refused [shard.Count]map[int64]int64
}

// New returns a Publisher that calls p.
func New(p message.Publisher, o Options) *Publisher {
	return &Publisher{o: o, sink: newSink(p, o.Timeout, o.MaxStuck)}
}

// Stuck is how many abandoned calls have not returned.
func (p *Publisher) Stuck() int64 { return p.sink.stuck.Load() }

// Confirmed is how many rows the sink has confirmed.
func (p *Publisher) Confirmed() int64 { return p.sink.confirmed.Load() }

// Wait waits a second for the abandoned calls. The error matches ErrStuck.
func (p *Publisher) Wait() error { return p.sink.wait(stuckGrace) }

// State is the result for an entry.
type State uint8

// The states.
const (
	// Left: unknown; the row stays as it is.
	Left State = iota
	// Confirmed: the sink has it.
	Confirmed
	// Refused: the sink refused it.
	Refused
	// Blocked: a ready row of an order that has held rows; it is not published.
	Blocked
	// Waiting: it comes after a refused row of its order.
	Waiting
)

// Entry is a row of a batch.
type Entry struct {
	Row *outbox.Row
	// Held is the reason why the row is held; "" for a ready row.
	Held outbox.Reason
	// Next is the index of the next entry of the same order; 0 if there is none (the first
	// entry comes after no other).
	Next  int32
	State State
	// Err is the sink's error of a refused row.
	Err error
	// Sure says that the sink refused the row again after it had confirmed another: the
	// cause is the row, and not the beginning or the end of an outage.
	Sure bool

	mark    int64 // how many rows the sink had confirmed when it got this one
	doubted bool  // too large, or refused in the previous run, and the sink has confirmed another row since
}

// ordered reports whether the row keeps its order.
func (e *Entry) ordered() bool { return e.Row.Event.OrderKey != "" && e.Held != outbox.Delayed }

// failureOf is the class of a failed call of Publish and the error's Go type, without the
// sink's error text.
func failureOf(err error) (class, goType string) {
	var panicked *retry.PanicError
	switch {
	case err == nil:
		return "", ""
	case errors.Is(err, errFull), errors.Is(err, ErrStuck):
		class = string(retry.Timeout)
	case errors.As(err, &panicked):
		class = string(retry.Panic)
	default:
		class = "refused"
	}
	return class, fmt.Sprintf("%T", err)
}
