package amqp

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/headrace/headrace/broker/internal/flow"
)

// SinkOptions configure a Sink. Server.URL is required.
type SinkOptions struct {
	Server
	Topology

	// ConfirmTimeout is how long the broker may take to confirm messages. It must be
	// below the relay's PublishTimeout, so that the sink does not count as stuck. At most
	// 1 h. Default 15 s.
	ConfirmTimeout time.Duration
	// Channels is how many calls of Publish run at once, each on its own channel, so that
	// a message for which the broker ends the channel does not affect another call.
	// Further calls wait. Default 16.
	Channels int
	// UnsafeUnroutable treats messages that no queue takes as published; they are lost.
	// It is for exchanges that may have no bound queue. Default: such a message is an
	// error.
	UnsafeUnroutable bool
}

func (o SinkOptions) withDefaults() SinkOptions {
	o.Server, o.Topology = o.Server.withDefaults(), o.Topology.withDefaults()
	set(&o.ConfirmTimeout, 15*time.Second)
	set(&o.Channels, 16)
	return o
}

func (o SinkOptions) validate() error {
	if err := errors.Join(o.Server.validate(), o.Topology.validate()); err != nil {
		return err
	}
	if err := flow.Times(flow.Time{Name: "SinkOptions.ConfirmTimeout", Value: o.ConfirmTimeout}); err != nil {
		return err
	}
	if o.Channels < 0 || o.Channels > 1000 {
		return fmt.Errorf("option SinkOptions.Channels is %d: it may be 1 to 1,000, and 0 gives the default", o.Channels)
	}
	if o.UnsafeUnroutable && o.Exchange == "" {
		return errors.New("option SinkOptions.UnsafeUnroutable: without an Exchange a topic is one queue, and a missing queue is a mistake")
	}
	return nil
}

// Sink publishes to queues and exchanges: a Watermill Publisher. It is safe for
// concurrent use.
type Sink struct {
	o     SinkOptions
	link  *link
	slots chan struct{} // one for each call of Publish under way
	calls sync.WaitGroup
	owned sync.WaitGroup

	mu     sync.Mutex
	closed bool
	free   []*channel
	made   map[string]*amqp091.Connection // topics whose topology was made, and over which connection
}

// NewSink returns a sink, without connecting. The error names the invalid option.
func NewSink(o SinkOptions) (*Sink, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("amqp: %w", err)
	}
	o = o.withDefaults()
	return &Sink{
		o: o, link: newLink(o.Server), slots: make(chan struct{}, o.Channels), made: make(map[string]*amqp091.Connection),
	}, nil
}

// SinkID identifies the broker and the exchange, for the relay: without user and password.
func (s *Sink) SinkID() string {
	uri, err := amqp091.ParseURI(s.o.URL)
	if err != nil {
		return "amqp"
	}
	return strings.TrimSpace(fmt.Sprintf("amqp:%s:%d/%s %s", uri.Host, uri.Port, strings.TrimPrefix(uri.Vhost, "/"), s.o.Exchange))
}

// Publish returns nil after the broker has confirmed all of messages, and that a queue
// takes each. If the result of each message is known, the error is a *PublishError. The
// broker may still have a failed message, if the connection was lost or the confirmation
// came too late: publish it again, under its id.
//
// Publish blocks for a connection (at most Server.Timeout) and for confirmations
// (ConfirmTimeout), but not longer than the context of the first message.
func (s *Sink) Publish(topic string, messages ...*message.Message) error {
	if len(messages) == 0 {
		return nil
	}
	if !s.enter() {
		return ErrClosed
	}
	defer s.calls.Done()
	p, err := s.o.place(topic)
	if err != nil {
		return fmt.Errorf("amqp: %w", err)
	}
	if err := s.link.accepts(); err != nil {
		return fmt.Errorf("amqp: %w", err)
	}
	ctx := messages[0].Context()
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return fmt.Errorf("amqp: %w", ctx.Err())
	}
	c, err := s.channel(ctx, topic, p)
	if err != nil {
		return fmt.Errorf("amqp: %w", err)
	}
	var failures []Failure
	for from := 0; from < len(messages); from += window {
		part := messages[from:min(from+window, len(messages))]
		failures = append(failures, c.publish(ctx, s.o, p, part, from)...)
	}
	s.giveBack(c)
	if len(failures) > 0 {
		return &PublishError{Messages: len(messages), Failures: failures}
	}
	return nil
}

func (s *Sink) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.calls.Add(1)
	return true
}

// Close lets running calls of Publish finish, for at most ConfirmTimeout, and ends the
// connection. It may be called more than once.
func (s *Sink) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	done := make(chan struct{})
	s.owned.Go(func() {
		s.calls.Wait()
		close(done)
	})
	timer := time.NewTimer(s.o.ConfirmTimeout)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C: // every call returns when the connection is closed
	}
	s.link.close()
	s.owned.Wait()
	return nil
}
