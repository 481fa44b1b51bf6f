package amqp

import (
	"context"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/headrace/headrace/outbox"
)

// window is how many messages of a channel wait for their confirmation.
const window = 256

// channel is an AMQP channel in confirm mode, used by one call of Publish at a time.
type channel struct {
	conn    *amqp091.Connection
	ch      *amqp091.Channel
	returns chan amqp091.Return // has room for all returns of a window, so that the client never waits
	lost    chan *amqp091.Error
	reason  *amqp091.Error // what lost said
	stuck   bool           // confirmations are missing
}

// channel returns a channel, after making the topic's topology over its connection.
func (s *Sink) channel(ctx context.Context, topic string, p place) (*channel, error) {
	conn, err := s.link.get(ctx)
	if err != nil {
		return nil, err
	}
	if c := s.idle(conn, topic); c != nil {
		return c, nil
	}
	return s.open(ctx, conn, topic, p)
}

// idle returns a channel of an earlier call; nil if there is none, or the topic's
// topology must be made first.
func (s *Sink) idle(conn *amqp091.Connection, topic string) *channel {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.o.Declare != "" && s.made[topic] != conn {
		return nil
	}
	for len(s.free) > 0 {
		c := s.free[len(s.free)-1]
		s.free = s.free[:len(s.free)-1]
		if c.conn == conn && !c.ch.IsClosed() {
			return c
		}
	}
	return nil
}

// open opens a channel. A broker that has just run short of memory or disk reads no
// requests, and the client would wait until that ends; open does not.
func (s *Sink) open(ctx context.Context, conn *amqp091.Connection, topic string, p place) (*channel, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.o.Timeout, errNoAnswer)
	defer cancel()
	opened, failed := make(chan *channel), make(chan error, 1)
	s.owned.Go(func() {
		c, err := s.fresh(conn, topic, p)
		if err != nil {
			failed <- err
			return
		}
		select {
		case opened <- c:
		case <-ctx.Done(): // too late for this call
			s.giveBack(c)
		}
	})
	select {
	case c := <-opened:
		return c, nil
	case err := <-failed:
		return nil, err
	case <-ctx.Done():
		return nil, fmt.Errorf("open a channel: %w", context.Cause(ctx))
	}
}

func (s *Sink) fresh(conn *amqp091.Connection, topic string, p place) (*channel, error) {
	if err := s.make(conn, topic, p); err != nil {
		return nil, err
	}
	if c := s.idle(conn, topic); c != nil { // only the topology was missing
		return c, nil
	}
	ch, err := conn.Channel()
	if err != nil {
		return nil, fmt.Errorf("open a channel: %w", err)
	}
	if err := ch.Confirm(false); err != nil {
		return nil, fmt.Errorf("ask for confirmations: %w", err)
	}
	return &channel{
		conn: conn, ch: ch, returns: ch.NotifyReturn(make(chan amqp091.Return, window)),
		lost: ch.NotifyClose(make(chan *amqp091.Error, 1)),
	}, nil
}

// giveBack keeps c for the next call, unless it has ended or is missing confirmations of
// this call.
func (s *Sink) giveBack(c *channel) {
	switch {
	case c.ch.IsClosed():
	case c.stuck: // the broker may not read, so closing could last as long as the connection
		s.owned.Go(func() { _ = c.ch.Close() }) // an error says that it is closed
	default:
		s.mu.Lock()
		s.free = append(s.free, c)
		s.mu.Unlock()
	}
}

// make makes the topology of a topic if Declare is set, once for each connection.
func (s *Sink) make(conn *amqp091.Connection, topic string, p place) error {
	s.mu.Lock()
	made := s.o.Declare == "" || s.made[topic] == conn
	s.mu.Unlock()
	if made {
		return nil
	}
	ch, err := conn.Channel()
	if err != nil {
		return fmt.Errorf("open a channel: %w", err)
	}
	if p.exchange != "" {
		err = s.o.prepareExchange(ch, p.exchange) // its queues belong to their consumers
	} else {
		err = s.o.prepare(ch, p, versionOf(conn))
	}
	if !ch.IsClosed() {
		_ = ch.Close() // an error says that it is closed
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made[topic] = conn
	return nil
}

// sent is a message that was sent to the broker.
type sent struct {
	confirmed *amqp091.DeferredConfirmation
	err       error
}

// publish sends messages, at most a window, to the broker and waits until each is
// confirmed. from is the index of the first.
func (c *channel) publish(ctx context.Context, o SinkOptions, p place, messages []*message.Message, from int) (failures []Failure) {
	all := make([]sent, len(messages))
	for i, m := range messages {
		all[i] = c.send(o, p, m)
	}
	timer := time.NewTimer(o.ConfirmTimeout)
	defer timer.Stop()
	for i := range all {
		if s := &all[i]; s.err == nil {
			s.err = c.await(ctx, timer, s.confirmed)
		}
	}
	c.returned(messages, all)
	for i := range all {
		if all[i].err != nil {
			failures = append(failures, Failure{Index: from + i, Err: all[i].err})
		}
	}
	return failures
}

func (c *channel) send(o SinkOptions, p place, m *message.Message) sent {
	if c.stuck {
		return sent{err: fmt.Errorf("%w: not tried, after one that was not confirmed", ErrNotConfirmed)}
	}
	publishing, err := marshal(m, c.conn.Config.FrameSize)
	if err != nil {
		return sent{err: err}
	}
	confirmed, err := c.ch.PublishWithDeferredConfirm(p.exchange, p.key, !o.UnsafeUnroutable, false, publishing)
	if err != nil {
		return sent{err: c.why(err)}
	}
	return sent{confirmed: confirmed}
}

// await waits for one confirmation. When it has come, so has the message's return: the
// broker sends that first, and the client keeps the order.
func (c *channel) await(ctx context.Context, timer *time.Timer, confirmation *amqp091.DeferredConfirmation) error {
	if c.stuck { // only a confirmation that is already here counts
		select {
		case <-confirmation.Done():
		default:
			return fmt.Errorf("%w in time", ErrNotConfirmed)
		}
	}
	select {
	case <-confirmation.Done():
	case <-timer.C:
		c.stuck = true
		return fmt.Errorf("%w in time", ErrNotConfirmed)
	case <-ctx.Done():
		c.stuck = true
		return fmt.Errorf("%w: %w", ErrNotConfirmed, ctx.Err())
	}
	switch {
	case confirmation.Acked():
		return nil
	case c.ch.IsClosed():
		return c.why(amqp091.ErrClosed)
	}
	return fmt.Errorf("%w: the broker refuses it", ErrNotConfirmed)
}

// why returns the broker's reason for the end of the channel, if it gives one, otherwise
// err.
func (c *channel) why(err error) error {
	if c.reason == nil {
		timer := time.NewTimer(goodbye)
		defer timer.Stop()
		select { // the client marks a channel as closed just before it sends the reason
		case c.reason = <-c.lost:
		case <-timer.C:
		}
	}
	if c.reason != nil {
		err = c.reason
	}
	if refusal(err, amqp091.PreconditionFailed) != nil { // above the broker's max_message_size
		err = fmt.Errorf("%w: %w", outbox.ErrTooLarge, err)
	}
	return fmt.Errorf("%w: %w", ErrNotConfirmed, err)
}

// returned assigns each return to its message.
func (c *channel) returned(messages []*message.Message, all []sent) {
	for {
		select {
		case r, ok := <-c.returns:
			if !ok {
				return
			}
			c.match(r, messages, all)
		default:
			return
		}
	}
}

func (c *channel) match(r amqp091.Return, messages []*message.Message, all []sent) {
	err := fmt.Errorf("%w: %d %s", ErrReturned, r.ReplyCode, r.ReplyText)
	id, _ := r.Headers[idHeader].(string)
	for i, m := range messages {
		if m.UUID == id && all[i].err == nil {
			all[i].err = err
			return
		}
	}
	for i := range all { // the message is unknown: none counts as published
		if all[i].err == nil {
			all[i].err = err
		}
	}
}
