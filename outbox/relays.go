package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// DefaultName is the name of the outbox of a store that was given none.
const DefaultName = "default"

// Relay is a running relay: a process that publishes an outbox.
type Relay struct {
	// ID is made by the process, and never used again.
	ID string
	// Outbox is the name of the outbox, and Sink identifies where it is published to. Known
	// says that two relays with this Sink publish to one place; otherwise it is only the
	// kind of the sink.
	Outbox string
	Sink   string
	Known  bool
	// Consumers are the consumers that the relay publishes for; a relay without one has its
	// Name here.
	Consumers []string
	// Host is the machine's name; "" if unknown.
	Host string
}

// Owner is who owns an outbox.
type Owner struct {
	// Outbox is its name, and Consumer that of the consumer, or of a relay without one.
	Outbox, Consumer string
	// Sink is the SinkID with which it published last; "" if its sink has none.
	Sink string
}

// Relays are the relays of a database. Drivers implement it. Each method is one
// transaction, and waits for the database until ctx ends.
type Relays interface {
	// Claim records that the consumers of r own its outbox. The first relay of an outbox may
	// claim it. Later, one of the consumers that own it may, and one whose Sink is Known and is
	// that of an owner; for another one it changes nothing, and the error matches ErrOwned.
	// Owners stay when their processes have ended.
	Claim(ctx context.Context, r Relay) error
	// Serve records that r lives, and returns "" if it may publish. Otherwise another relay
	// of the outbox, with the sink that is returned, may: it was there first, and was heard
	// of less than missed ago. Call it again and again; each call is a beat. It claims the
	// outbox as Claim does.
	Serve(ctx context.Context, r Relay, missed time.Duration) (other string, err error)
	// Owners returns who owns the outbox, or each outbox if it is "", sorted by outbox and consumer.
	Owners(ctx context.Context, outbox string) ([]Owner, error)
	// End records that the relay called id has ended.
	End(ctx context.Context, id string) error
}

// ErrOwned matches the error for a relay of an outbox that other consumers own.
var ErrOwned = errors.New("other consumers own it")

// ErrTooLarge matches the error of a sink's Publish for a message that is too large for its
// broker: it would be refused again. So this refusal spends an attempt of the event also if
// the sink confirms nothing else; any other error could then be an outage.
var ErrTooLarge = errors.New("too large for the broker")

// SinkID identifies a sink, so that one outbox is not published to two of them: what the
// sink's own method SinkID() string returns. If it has none, known is false, and id only tells
// it from sinks of another kind: what its method SinkKind() string returns, or its Go type,
// since a Watermill Publisher has no address. Both are stored and shown: they have no password,
// user or token in them.
func SinkID(sink any) (id string, known bool) {
	switch s := sink.(type) {
	case interface{ SinkID() string }:
		return s.SinkID(), true
	case interface{ SinkKind() string }:
		return s.SinkKind(), false
	}
	return fmt.Sprintf("%T", sink), false
}
