package outbox

import (
	"context"
	"fmt"
	"time"
)

// DefaultName is the name of the outbox of a store that was given none.
const DefaultName = "default"

// Relay is a running relay: a process that publishes an outbox.
type Relay struct {
	// ID is made by the process, and never used again.
	ID string
	// Outbox is the name of the outbox, and Sink identifies where it is published to.
	Outbox string
	Sink   string
	// Host is the machine's name; "" if unknown.
	Host string
}

// Relays are the relays of a database. Drivers implement it. Each method is one
// transaction, and waits for the database until ctx ends.
type Relays interface {
	// Serve records that r lives, and returns "" if it may publish. Otherwise another relay
	// of the outbox, with the sink that is returned, may: it was there first, and was heard
	// of less than missed ago. Call it again and again; each call is a beat.
	Serve(ctx context.Context, r Relay, missed time.Duration) (other string, err error)
	// End records that the relay called id has ended.
	End(ctx context.Context, id string) error
}

// SinkID identifies a sink, so that one outbox is not published to two of them: what the
// sink's own method SinkID() string returns, and otherwise its Go type, since a Watermill
// Publisher has no address. It is stored and shown: a SinkID has no password, user or token
// in it.
func SinkID(sink any) string {
	if s, ok := sink.(interface{ SinkID() string }); ok {
		return s.SinkID()
	}
	return fmt.Sprintf("%T", sink)
}
