package brokertest

import (
	"context"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Broker is a real server with our source and sink. The test's process and its children
// create it from environment variables alone, so no method gets a testing.TB. All methods
// are safe for concurrent use.
type Broker interface {
	// Features say what is true of this broker; they do not change.
	Features() Features
	// Create creates topic and everything that a sender and a Source of it need, also
	// again after Delete. Names are [a-z0-9-] and new in each run. The suite deletes
	// them at its end, if Features.Delete can.
	Create(ctx context.Context, topic string) error
	// Source returns a new source, as one process has it. Two sources share the
	// deliveries of a topic (one consumer group, durable or queue). All of its
	// connections go to addr, a proxy before the server; "" is the server itself. The
	// caller closes it.
	Source(addr string) (message.Subscriber, error)
	// Sink returns a new sink, with addr as in Source. The caller closes it.
	Sink(addr string) (message.Publisher, error)
	// Send sends records, in this order, like a sender without Watermill and headrace:
	// with the broker's own command line client or its plain client library. It returns
	// when the broker has them.
	Send(ctx context.Context, topic string, records ...Record) error
	// Read reads one message of topic, which no Source reads, like a reader without Watermill
	// and headrace. It waits until there is one.
	Read(ctx context.Context, topic string) (Record, error)
	// Left is how many messages of topic the Sources have not acknowledged, including
	// those that they hold. It may be slightly out of date.
	Left(ctx context.Context, topic string) (int, error)
	// Addr is the server's address, host:port, to which a proxy forwards.
	Addr() string
}

// Record is a message of a foreign sender, or as a foreign reader gets it.
type Record struct {
	// ID is the id in the broker's own field for it (message-id, Nats-Msg-Id); "" sets
	// none. A broker without such a field ignores it.
	ID string
	// Key is the partition key or message group; "" sets none. A broker without one
	// ignores it.
	Key string
	// Payload are the bytes.
	Payload []byte
	// Headers are text; Hostile sends others.
	Headers map[string]string
}

// Features describe a Broker. The comment of each field gives the meaning of its zero
// value.
type Features struct {
	// Name is the name of the package: "kafka".
	Name string

	// Anonymous: a message without an id has no position either (RabbitMQ). It becomes an
	// undecodable dead letter unless the consumer has a KeyFunc that reads the payload.
	// False: the broker's own id or position is its key.
	Anonymous bool
	// Hostile are messages that an unmarshaler has failed on, or might. At least one.
	Hostile []Hostile
	// BadPayload is a payload that no codec reads; nil uses bytes that are not UTF-8. SQS
	// carries text only.
	BadPayload []byte

	// Redelivery is the longest time until the broker delivers a message again that a
	// Source took and did not settle before its process died, with the settings that
	// Source makes (make them short: seconds). The test of the heartbeat waits three
	// times as long. Required.
	Redelivery time.Duration
	// LeastPause is the shortest time that a nacked message stays away, however it was
	// nacked. 0 means 100 ms.
	LeastPause time.Duration
	// InFlight is how many messages of one subscription are delivered before one of them
	// is acknowledged; at least 2 if the broker allows it. 0 means 1.
	InFlight int
	// Ordered: a single Source delivers the messages of one Key in the order in which
	// they were sent, while none is nacked.
	Ordered bool
	// Keys: the key of a foreign sender's Record is the message's order key. False: the broker
	// has none, or sets it by no field that others know.
	Keys bool
	// Tombstones: a nil payload arrives as nil. False: as an empty one.
	Tombstones bool

	// TooLarge is a payload size in bytes that the broker refuses. 0: no limit that a
	// test could reach.
	TooLarge int
	// CreatesTopics: publishing to a missing topic creates it. False: it must be an
	// error.
	CreatesTopics bool

	// Restart kills the server and starts it again on the same address and files; it
	// returns when the server answers. See Restart for servers that scripts/services
	// started. nil: the suite restarts nothing.
	Restart func(ctx context.Context) error
	// Delete removes a topic with its messages. nil: the suite recreates nothing.
	Delete func(ctx context.Context, topic string) error
}

// Hostile is one carefully built message of a foreign sender.
type Hostile struct {
	// Name says what is wrong with the message: "x-death", "binary header".
	Name string
	// Undecodable: it must become an undecodable dead letter, because its payload cannot
	// be body (a nil value, for example). False: it must be applied like any other.
	Undecodable bool
	// Send sends the message to topic with the payload body, JSON for the suite's
	// handler.
	Send func(ctx context.Context, topic string, body []byte) error
}
