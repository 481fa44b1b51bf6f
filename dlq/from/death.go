package from

import (
	"fmt"
	"strings"
	"time"

	"github.com/headrace/headrace"
)

// Reader returns what the broker says of d, which came from a dead-letter queue, and whether
// it is a message of d.Topic that this consumer is to take. It may be called concurrently.
type Reader func(d *headrace.Delivery) (death *Death, ours bool)

// Death is what a broker, or another consumer, says of a message that it gave up. It is the
// error of its dead letter. Fields that it does not say are zero.
type Death struct {
	// Broker names who gave the message up: "RabbitMQ".
	Broker string
	// Reason says why, in its words: "rejected", or an exception.
	Reason string
	// Source is the queue or topic from which it was moved, and Place the position there.
	Source, Place string
	// Count is how often it was moved from there, as far as the broker counts.
	Count int64
	// First is when it was moved for the first time, by the broker's clock.
	First time.Time
}

// Error implements error. The texts of messages that were given up for one reason differ only
// in numbers and times, so that their dead letters are one group.
func (d *Death) Error() string {
	var b strings.Builder
	if d.Reason == "" {
		b.WriteString("the reason is unknown")
	}
	fmt.Fprintf(&b, "%s (given up by %s", d.Reason, d.Broker)
	if d.Source != "" {
		fmt.Fprintf(&b, ", from %s", d.Source)
	}
	if d.Place != "" {
		fmt.Fprintf(&b, ", %s", d.Place)
	}
	if d.Count > 0 {
		fmt.Fprintf(&b, ", count %d", d.Count)
	}
	if !d.First.IsZero() {
		fmt.Fprintf(&b, ", first at %s", d.First.UTC().Format(time.RFC3339))
	}
	b.WriteString(")")
	return b.String()
}
