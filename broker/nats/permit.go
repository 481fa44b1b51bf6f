package nats

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	natsgo "github.com/nats-io/nats.go"
)

// permitTime is how long the server may take to answer a probe. It drops messages that
// the credentials do not permit, without an answer.
const permitTime = 4 * time.Second

// pingTime is how long the server may take to answer a ping.
const pingTime = 3 * time.Second

// permitted returns an error if the credentials may not request messages from a consumer
// or acknowledge them. It sends an invalid request, and reports progress on a message
// that does not exist, so that it affects no message.
func (s *Source) permitted(ctx context.Context, stream, durable string) error {
	for _, probe := range []struct{ subject, body, may string }{
		{apiPrefix(s.o.Domain) + "CONSUMER.MSG.NEXT." + stream + "." + durable, "{", "ask for messages"},
		{noMessage(stream, durable), string(inProgress), "acknowledge"},
	} {
		within, cancel := context.WithTimeout(ctx, permitTime)
		_, err := s.link.nc.RequestWithContext(within, probe.subject, []byte(probe.body))
		cancel()
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			return fmt.Errorf("NATS does not answer at %q: give the credentials the permission to publish there, without which nothing can %s", probe.subject, probe.may)
		}
		// Any answer proves the permission, also that there is no responder now.
	}
	return nil
}

// noMessage is the subject for settlements of a message that does not exist.
func noMessage(stream, durable string) string {
	return "$JS.ACK." + stream + "." + durable + ".1.999999999999999999.1.1.0"
}

// complaintTime is the least time between two logged errors of the server.
const complaintTime = time.Minute

// complaints logs errors that the server or the library reports outside of any call, such
// as a missing permission.
func (o Server) complaints() natsgo.ErrHandler {
	log := o.logger()
	var last atomic.Int64
	return func(_ *natsgo.Conn, _ *natsgo.Subscription, err error) {
		now, before := time.Now().UnixNano(), last.Load()
		if before != 0 && now-before < int64(complaintTime) || !last.CompareAndSwap(before, now) {
			return
		}
		log.Warn("NATS reports an error; further ones within a minute are not logged", "error", err)
	}
}

// confirmed records whether the server answers acknowledgements, and logs the first time
// that it does not.
func (b *subscription) confirmed(err error) {
	switch {
	case err == nil && b.unconfirmed.Load():
		if b.unconfirmed.Swap(false) {
			b.source.o.logger().Info("NATS confirms acknowledgements again", "topic", b.topic, "stream", b.stream)
		}
	case err != nil && !b.source.link.nc.IsClosed() && !b.unconfirmed.Swap(true):
		b.source.o.logger().Warn("NATS does not confirm an acknowledgement, and the message comes again: if that lasts, may the credentials publish to the subject?",
			"topic", b.topic, "stream", b.stream, "subject", "$JS.ACK."+b.stream+"."+b.consumer+".>", "error", err)
	}
}

// unansweredTimes is how many requests in a row must get no answer before that is logged:
// one may be lost with a connection.
const unansweredTimes = 2

// expired records that the server has not ended a request in time.
func (b *subscription) expired() {
	if b.source.link.nc.IsConnected() {
		b.unanswered++
	}
	if b.unanswered < unansweredTimes {
		return
	}
	b.health.Is(errUnanswered)
	if !b.trouble {
		b.trouble = true
		b.source.o.logger().Warn("NATS gives no messages: it does not answer requests for them; may the credentials publish to the subject?",
			"topic", b.topic, "stream", b.stream, "subject", b.api)
	}
}
