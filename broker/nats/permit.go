package nats

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	natsgo "github.com/nats-io/nats.go"
)

// permitTime is how long the server has to answer a probe. It drops what the credentials
// may not publish, and answers nothing.
const permitTime = 4 * time.Second

// permitted returns an error if the credentials may not ask a consumer for messages or
// acknowledge them. It asks for what the server refuses, and reports progress on a message
// that nobody has, so that no message comes or goes.
func (s *Source) permitted(ctx context.Context, stream, durable string) error {
	for _, probe := range []struct{ subject, body, may string }{
		{apiPrefix(s.o.Domain) + "CONSUMER.MSG.NEXT." + stream + "." + durable, "{", "ask for messages"},
		{"$JS.ACK." + stream + "." + durable + ".1.999999999999999999.1.1.0", string(inProgress), "acknowledge"},
	} {
		within, cancel := context.WithTimeout(ctx, permitTime)
		_, err := s.link.nc.RequestWithContext(within, probe.subject, []byte(probe.body))
		cancel()
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			return fmt.Errorf("NATS does not answer at %q: give the credentials the permission to publish there, without which nothing can %s", probe.subject, probe.may)
		}
		// Any answer will do, also that nobody is there for the moment.
	}
	return nil
}

// complaintTime is the least time between two log lines of complaints.
const complaintTime = time.Minute

// complaints logs what the server or the library says outside of any call, as that
// something is not permitted.
func (o Server) complaints() natsgo.ErrHandler {
	log := o.logger()
	var last atomic.Int64
	return func(_ *natsgo.Conn, _ *natsgo.Subscription, err error) {
		now, before := time.Now().UnixNano(), last.Load()
		if before != 0 && now-before < int64(complaintTime) || !last.CompareAndSwap(before, now) {
			return
		}
		log.Warn("NATS complains; more of it within a minute is not logged", "error", err)
	}
}

// confirmed notes whether the server answers acknowledgements. The first time that it does
// not is logged.
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

// unansweredTimes is how often in a row a request must get no answer before that is
// logged: one may be lost with a connection.
const unansweredTimes = 2

// expired is told that the server has not ended a request in time.
func (b *subscription) expired() {
	if b.source.link.nc.IsConnected() {
		b.unanswered++
	}
	if b.unanswered >= unansweredTimes && !b.trouble {
		b.trouble = true
		b.source.o.logger().Warn("NATS gives no messages: it does not answer requests for them; may the credentials publish to the subject?",
			"topic", b.topic, "stream", b.stream, "subject", b.api)
	}
}
