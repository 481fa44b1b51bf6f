package nats

import (
	"context"
	"strconv"
	"time"
)

// The answers to a message's reply subject.
var (
	ack        = []byte("+ACK")
	nak        = []byte("-NAK")
	inProgress = []byte("+WPI")
)

const (
	// ackTime is how long the server may take to confirm an acknowledgement, ackTimes how
	// often it is sent. Without a confirmation the message comes again.
	ackTime  = 3 * time.Second
	ackTimes = 3
)

// settle waits until d is settled, and settles it at the server.
func (b *subscription) settle(d *delivery) {
	select {
	case <-d.msg.Acked():
	case <-d.msg.Nacked():
	case <-b.ctx.Done():
	}
	d.forget()
	select { // a settlement counts, even if the subscription ended at the same time
	case <-d.msg.Acked():
		b.ack(d)
	case <-d.msg.Nacked():
		b.nak(d, b.source.o.NackDelay)
	default:
		b.nak(d, 0)
	}
	select {
	case b.done <- d:
	case <-b.ctx.Done():
	}
}

// ack acknowledges d and waits for the server's confirmation: if the acknowledgement got
// lost, the message would come again after AckWait.
func (b *subscription) ack(d *delivery) {
	var err error
	for range ackTimes {
		ctx, cancel := context.WithTimeout(context.Background(), ackTime)
		_, err = b.source.link.nc.RequestWithContext(ctx, d.raw.Reply, ack)
		cancel()
		if err == nil || b.source.link.nc.IsClosed() {
			break
		}
	}
	d.settled.Store(true)
	b.confirmed(err)
}

// nak gives d back for at least delay.
func (b *subscription) nak(d *delivery, delay time.Duration) {
	d.settled.Store(true)
	body := nak
	if delay > 0 {
		body = append(strconv.AppendInt([]byte(`-NAK {"delay":`), int64(delay), 10), '}')
	}
	_ = b.source.link.nc.Publish(d.raw.Reply, body) // otherwise it comes again after AckWait
}
