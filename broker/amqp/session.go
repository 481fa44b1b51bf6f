package amqp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/headrace/headrace/internal/sleep"
	amqp091 "github.com/rabbitmq/amqp091-go"
)

// session is the life of one channel. Delivery tags count within it.
type session struct {
	sub  *subscription
	ch   *amqp091.Channel
	lost chan *amqp091.Error // gets a value or is closed when the channel ends
	acks *acks

	deliveries <-chan amqp091.Delivery // nil while it does not consume
	tag        string                  // of the consumer
	consumers  int                     // how many there have been
	handed     int                     // messages that were handed over
	// held are deliveries fetched before a pause and not handed over; next is the next
	// one to hand over.
	held    []amqp091.Delivery
	next    *handover
	release *time.Timer // runs while messages are held in a pause
}

// handover is a delivery with its message.
type handover struct {
	delivery amqp091.Delivery
	message  *message.Message
	cancel   context.CancelFunc
}

var (
	// errCancelled says that the broker cancelled the consumer, which it does when the
	// queue is deleted, or its node is gone.
	errCancelled = errors.New("the broker cancelled the consumer: the queue is deleted, or its node is gone")
	errLost      = errors.New("the channel is closed")
)

func newSession(sub *subscription, ch *amqp091.Channel) *session {
	release := time.NewTimer(time.Hour)
	release.Stop()
	return &session{
		sub: sub, ch: ch, lost: ch.NotifyClose(make(chan *amqp091.Error, 1)),
		acks: newAcks(ch, sub.source.o.Prefetch), release: release,
	}
}

// begin consumes unless the subscription is paused.
func (n *session) begin() error {
	if err := n.ch.Qos(n.sub.source.o.Prefetch, 0, false); err != nil {
		return fmt.Errorf("set the prefetch: %w", err)
	}
	return n.follow()
}

// follow starts or stops consuming when a pause ends or begins.
func (n *session) follow() error {
	switch paused := n.sub.paused.Load(); {
	case paused && n.deliveries != nil:
		return n.suspend()
	case !paused && n.deliveries == nil:
		return n.consume()
	}
	return nil
}

// notOfStreams is an argument with its default value, which streams reject: it is the
// only harmless way to detect the type of a queue in the protocol.
var notOfStreams = amqp091.Table{"x-priority": int32(0)}

func (n *session) consume() (err error) {
	n.release.Stop()
	n.consumers++
	n.tag = fmt.Sprintf("headrace-%d", n.consumers)
	n.deliveries, err = n.ch.Consume(n.sub.place.queue, n.tag, false, false, false, false, notOfStreams)
	if refusal(err, amqp091.PreconditionFailed) != nil {
		return fmt.Errorf("%w (%w)", errStream{n.sub.place.queue}, err)
	}
	if err != nil {
		return explain(n.sub.place, err)
	}
	return nil
}

// suspend ends the consumer, and keeps the messages that it had fetched. A quorum queue
// would count giving them back as a delivery, and a pause for a short outage should cost
// no message a delivery.
func (n *session) suspend() error {
	if err := n.ch.Cancel(n.tag, false); err != nil {
		return fmt.Errorf("cancel the consumer: %w", err)
	}
	for d := range n.deliveries { // the client closes it, since the consumer has ended
		n.held = append(n.held, d)
	}
	n.deliveries = nil
	n.release.Reset(n.sub.source.o.PauseHold)
	return nil
}

// giveBack requeues the held messages.
func (n *session) giveBack() {
	if n.next != nil {
		n.next.cancel()
		n.acks.settle(n.next.delivery.DeliveryTag, false)
		n.next = nil
	}
	for _, d := range n.held {
		n.acks.settle(d.DeliveryTag, false)
	}
	n.held = nil
}

// serve hands deliveries over until the session or the subscription ends; the error says
// why the session ended.
func (n *session) serve() error {
	for {
		if n.next == nil && len(n.held) > 0 {
			n.take(n.held[0])
			n.held = n.held[1:]
		}
		in, out := n.deliveries, chan<- *message.Message(nil)
		var m *message.Message
		if n.next != nil {
			in, m = nil, n.next.message
			if !n.sub.paused.Load() {
				out = n.sub.out
			}
		}
		select {
		case <-n.sub.ctx.Done():
			return nil
		case err := <-n.lost:
			return n.reason(err)
		case <-n.sub.changed:
			if err := n.follow(); err != nil {
				return err
			}
		case <-n.release.C:
			n.giveBack()
		case d, ok := <-in:
			if !ok {
				return n.ended()
			}
			n.sub.health.Is(nil)
			n.take(d)
		case out <- m:
			n.watch(n.next)
			n.next = nil
			n.handed++
		}
	}
}

// take makes d the next message to hand over.
func (n *session) take(d amqp091.Delivery) {
	ctx, cancel := context.WithCancel(n.sub.ctx)
	n.next = &handover{delivery: d, message: unmarshal(ctx, n.sub.place.queue, &d), cancel: cancel}
}

// ended returns why there are no more deliveries although we have not cancelled the
// consumer.
func (n *session) ended() error {
	select {
	case err := <-n.lost:
		return n.reason(err)
	default:
		return errCancelled
	}
}

func (n *session) reason(err *amqp091.Error) error {
	if err == nil {
		return errLost
	}
	return fmt.Errorf("the channel is closed: %w", err)
}

// end gives back messages that were not handed over, waits until all settlements are sent
// to the broker, and closes the channel; then the broker requeues all unsettled messages.
//
// A quorum queue drops acks that it has not written when their channel closes. It answers
// a cancel only after earlier requests, so end cancels the consumer first.
func (n *session) end() {
	n.release.Stop()
	if n.next != nil {
		n.next.cancel()
	}
	if n.sub.ctx.Err() != nil {
		n.sub.watchers.Wait() // each checks its message once more
	}
	n.acks.close()
	if n.deliveries != nil && !n.ch.IsClosed() {
		_ = n.ch.Cancel(n.tag, false) // as below
	}
	if !n.ch.IsClosed() {
		_ = n.ch.Close() // an error says that it is closed
	}
}

// watch waits for m to be settled, and settles it at the broker. After the subscription's
// end it checks once more.
func (n *session) watch(h *handover) {
	tag, m := h.delivery.DeliveryTag, h.message
	n.sub.watchers.Go(func() {
		defer h.cancel()
		select {
		case <-m.Acked():
			n.acks.settle(tag, true)
			return
		case <-m.Nacked():
			if sleep.For(n.sub.ctx, n.sub.source.o.NackPause) {
				n.acks.settle(tag, false)
			}
			return
		case <-n.sub.ctx.Done():
		}
		select {
		case <-m.Acked():
			n.acks.settle(tag, true)
		default: // the broker redelivers it when the channel ends
		}
	})
}
