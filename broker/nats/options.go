package nats

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/headrace/headrace/broker/internal/flow"
)

// Provision returns the configuration of a stream for a topic without one. Its Name is
// required; Subjects are the topic if there are none. It is safe for concurrent use.
type Provision func(topic string) jetstream.StreamConfig

// Server is the server's address; URL or Conn is required.
type Server struct {
	// URL is the address, several with commas between them. A connection that was lost is
	// retried for ever.
	URL string
	// Options are for the connection to URL: credentials, TLS. They are applied after
	// ours. With Conn they are an error.
	Options []natsgo.Option
	// Conn is the caller's connection instead, who closes it after the Source or Sink. If
	// it ends finally (MaxReconnects), subscriptions end.
	Conn *natsgo.Conn
	// Domain is the JetStream domain. Default: that of the connection.
	Domain string
	// Logger logs outages, once each, and errors from the server, at most once a minute
	// (not with Conn, whose ErrorHandler gets them). No payloads. Default: slog.Default.
	Logger *slog.Logger
}

// SourceOptions configure a Source.
type SourceOptions struct {
	Server
	// Durable is the first part of the names of its consumers on the server. Required;
	// without '.', '*', '>', slashes and spaces. All processes of a consumer use the same
	// one.
	Durable string
	// Stream is the stream of all topics. Default: each topic's is looked up.
	// Source.Retention needs it.
	Stream string
	// Provision makes missing streams. Default: a topic without one is an error.
	Provision Provision

	// Window is how many messages each subscription holds at most, 1 to 10,000. Default 256.
	Window int
	// MaxBytes bounds the bytes of the messages that a subscription holds, with
	// subjects and headers; a larger message is fetched alone. Default 64 MiB.
	MaxBytes int64
	// AckWait is how long after the last sign of a process the server gives its messages
	// to another one, 1 s to 24 h. It is for consumers that the Source makes; an
	// existing one must agree. Default 30 s, or that of the consumer on the server.
	AckWait time.Duration
	// MaxAckPending is how many messages all processes together hold: 1 keeps the order
	// over all of them. It is for consumers that the Source makes. Default 16 Windows, at
	// least 1,000.
	MaxAckPending int
	// NackDelay is how long a message that was given back stays away, 10 ms to 24 h.
	// Default 1 s.
	NackDelay time.Duration

	// UnsafeMemory accepts streams that lose acknowledged messages when a server restarts.
	UnsafeMemory bool
	// UnsafeDiscard accepts streams that remove unhandled messages: with MaxMsgs or
	// MaxBytes and Discard old, or with MaxMsgsPerSubject.
	UnsafeDiscard bool
}

// SinkOptions configure a Sink.
type SinkOptions struct {
	Server
	// Provision makes missing streams. Default: a topic without one is an error.
	Provision Provision
	// PublishTimeout is how long a stream may take to confirm a message, at most 1 h. Default
	// 10 s.
	PublishTimeout time.Duration
	// UnsafeMemory accepts streams that lose confirmed messages when a server restarts.
	UnsafeMemory bool
	// UnsafeDiscard accepts streams that remove unhandled messages: with MaxMsgs or
	// MaxBytes and Discard old, or with MaxMsgsPerSubject; and streams of kind interest
	// without a consumer, which store nothing.
	UnsafeDiscard bool
	// UnsafeUnchecked skips the check of the stream before the first message to a topic:
	// for credentials that may only publish. With Provision it is an error.
	UnsafeUnchecked bool
}

const (
	leastAckWait   = time.Second
	leastNackDelay = 10 * time.Millisecond
	mostPause      = 24 * time.Hour
	mostWindow     = 10_000
)

func (o Server) validate() error {
	if (o.URL == "") == (o.Conn == nil) {
		return errors.New("option URL or Conn: give one of them")
	}
	if o.Conn != nil && len(o.Options) > 0 {
		return errors.New("option Options: they are for a connection to URL, and Conn is made already; give them where it is made")
	}
	return nil
}

func (o SourceOptions) validate() error {
	if err := o.Server.validate(); err != nil {
		return err
	}
	switch {
	case !plainName(o.Durable):
		return fmt.Errorf("option Durable is %q: give it a name of letters, digits, '-' and '_', the same in every process", o.Durable)
	case o.Window < 0 || o.Window > mostWindow:
		return fmt.Errorf("option Window is %d: it may be 1 to %d, 0 gives the default", o.Window, mostWindow)
	case o.MaxBytes < 0:
		return fmt.Errorf("option MaxBytes is negative (%d): 0 gives the default", o.MaxBytes)
	case o.MaxAckPending < 0:
		return fmt.Errorf("option MaxAckPending is negative (%d): 0 gives the default", o.MaxAckPending)
	}
	// With less a short silence of the process would already count as its death, and a message
	// that is given back would come again and again without a pause.
	return flow.Times(flow.Time{Name: "AckWait", Value: o.AckWait, Least: leastAckWait, Most: mostPause}, flow.Time{Name: "NackDelay", Value: o.NackDelay, Least: leastNackDelay, Most: mostPause})
}

func (o SourceOptions) withDefaults() SourceOptions {
	if o.Window == 0 {
		o.Window = 256
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 64 << 20
	}
	if o.MaxAckPending == 0 {
		o.MaxAckPending = max(1000, 16*o.Window)
	}
	if o.NackDelay == 0 {
		o.NackDelay = time.Second
	}
	return o
}

func (o SinkOptions) validate() error {
	if err := o.Server.validate(); err != nil {
		return err
	}
	if o.UnsafeUnchecked && o.Provision != nil {
		return errors.New("option Provision: with UnsafeUnchecked no stream is looked for, so none is made; leave one of the two out")
	}
	return flow.Times(flow.Time{Name: "PublishTimeout", Value: o.PublishTimeout})
}

func (o Server) logger() *slog.Logger {
	if o.Logger == nil {
		return slog.Default()
	}
	return o.Logger
}
