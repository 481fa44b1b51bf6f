package brokertest

import (
	"context"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Broker is a real server with the source and the sink of ours. It is made alike in the
// test's process and in its children, from nothing but environment variables, so no
// method is given a testing.TB. All methods are safe for concurrent use.
type Broker interface {
	// Features say what is true of this broker; they do not change.
	Features() Features
	// Create makes topic, and all that a sender and a Source of it need. It makes a topic
	// anew that Delete removed. Names are [a-z0-9-] and new in each run; nobody removes
	// what is left.
	Create(ctx context.Context, topic string) error
	// Source returns a new source, as one process has it: two of them share the
	// deliveries of a topic (one consumer group, durable or queue). All of its
	// connections go to addr, which leads to the server through a proxy; to the server
	// itself where addr is "". The caller closes it.
	Source(addr string) (message.Subscriber, error)
	// Sink returns a new sink, with addr as in Source. The caller closes it.
	Sink(addr string) (message.Publisher, error)
	// Send sends records, in this order, as somebody does who does not know Watermill or
	// headrace: with the broker's own command line client, or its plain client library.
	// It returns when the broker has them.
	Send(ctx context.Context, topic string, records ...Record) error
	// Left is how many messages of topic the Sources have not acknowledged, those that
	// they hold included. It may be late by a moment.
	Left(ctx context.Context, topic string) (int, error)
	// Addr is the server's address, host:port, for a proxy to forward to.
	Addr() string
}

// Record is a message as a foreign sender makes it.
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

// Features are what is true of a Broker. The zero value of a field is the answer that
// the field's comment gives.
type Features struct {
	// Name is that of the package: "kafka".
	Name string

	// Anonymous: a message without an id has no position either (RabbitMQ), so that it can
	// only become an undecodable dead letter unless the consumer has a KeyFunc that reads
	// the payload. False: the broker's own id or position is its key.
	Anonymous bool
	// Hostile are sends that an unmarshaler has tripped over, or might. Empty is a mistake.
	Hostile []Hostile
	// BadPayload is what the suite sends where bytes are wanted that no codec reads; nil
	// gives bytes that are no UTF-8. SQS carries text only.
	BadPayload []byte

	// Redelivery is the longest time after which a message comes again that a Source took
	// and never settled, once its process has died; with the settings that Source makes
	// (make them short: seconds). It is also what the test of the heartbeat waits for,
	// three times. Required.
	Redelivery time.Duration
	// LeastPause is the shortest time that a nacked message stays away, however it was
	// nacked. 0 means 100 ms.
	LeastPause time.Duration
	// InFlight is how many messages of one subscription are handed over before one of
	// them is acknowledged; at least 2 where the broker allows it. 0 means 1.
	InFlight int
	// Ordered: a single Source hands over the messages of one Key in the order in which
	// they were sent, while none is given back.
	Ordered bool

	// TooLarge is a payload size in bytes that the broker refuses. 0: it has no limit that
	// a test could reach.
	TooLarge int
	// CreatesTopics: publishing to a topic that does not exist makes one. False: it must
	// be an error.
	CreatesTopics bool

	// Restart stops the server as abruptly as can be and starts it again on the same
	// address and files; it returns when it serves. See Restart for servers that
	// scripts/services started. nil: the suite restarts nothing.
	Restart func(ctx context.Context) error
	// Forgets: a restarted server has lost its messages and topics (a server that keeps
	// them in memory).
	Forgets bool
	// Delete removes a topic with its messages. nil: the suite recreates nothing.
	Delete func(ctx context.Context, topic string) error
}

// Hostile is one message that a foreign sender makes with care.
type Hostile struct {
	// Name says what is wrong with it: "x-death", "binary header".
	Name string
	// Undecodable: it must end as an undecodable dead letter, because its payload cannot
	// be body (a nil value, say). False: it must be applied like any other.
	Undecodable bool
	// Send sends it to topic with the payload body, JSON for the suite's handler.
	Send func(ctx context.Context, topic string, body []byte) error
}
