package around

import (
	"context"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
)

// Stage says which part of a handler runs.
type Stage int

// The stages. A handler of HandleLeased has the last two, any other the first.
const (
	// Handling: the function of Handle, HandleBatch or a Router, in its transaction.
	Handling Stage = iota
	// Working: the work of a leased handler, without a transaction.
	Working
	// Applying: what the work returned, in its transaction.
	Applying
)

// Run is one run of a handler.
type Run struct {
	// Handler is its name, and Batch says that it is given several messages at once.
	Handler string
	Batch   bool
	// Stage says what runs, and Deliveries for which messages.
	Stage      Stage
	Deliveries []headrace.Delivery
}

// Func stands around a run: it calls do once or not at all, and what it returns is the
// run's error.
type Func func(ctx context.Context, r Run, do func() error) error

// Inside is what a test may reach of a consumer that does not run yet.
type Inside struct {
	// Put puts f around every run of every handler.
	Put func(f Func)
	// Identify returns what m is at each handler of topic, or at each of a Router: its
	// scope, key and fingerprint. It may be called also later.
	Identify func(topic string, m *message.Message) []headrace.Delivery
	// Hurry makes instances beat, and look after each other, n times as often.
	Hurry func(n int)
	// Cut takes the time away in which what was begun may finish, as a crash does. It is
	// called before the consumer is told to stop.
	Cut func()
	// Relays says that the consumer publishes or routes what is in the outbox.
	Relays bool
}

// Open opens a *consumer.Consumer. Package consumer sets it.
var Open func(c any) Inside
