package nats

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/headrace/headrace/broker/internal/flow"
)

// subscription is one call of Subscribe. One goroutine, run, does everything except
// waiting for the settlement of messages.
type subscription struct {
	source   *Source
	topic    string
	stream   string
	consumer string
	api      string // the subject for requests
	inbox    string
	in       chan *natsgo.Msg
	inboxSub *natsgo.Subscription
	out      chan *message.Message
	wake     chan struct{} // paused has changed
	paused   atomic.Bool
	ctx      context.Context
	cancel   context.CancelFunc
	every    time.Duration // between progress reports for held messages
	batch    int           // the largest number for one request
	expires  time.Duration // how long the server may keep a request

	// The fields below belong to run.
	held     map[*delivery]bool // requested and not settled
	queue    []*delivery        // those of held that were not handed over
	asked    int                // still expected from the request
	request  uint64             // its number
	resting  bool               // no requests before the timer fires
	timer    *time.Timer        // ends a request without an answer, or a rest
	trouble  bool               // the server rejects requests, which was logged
	missing  int                // how often in a row the consumer was missing
	done     chan *delivery     // settled ones
	settling sync.WaitGroup

	bytes    int   // of held
	maxBytes int64 // the most bytes for one request; 0 is no limit
	large    bool  // the next message waits until none is held

	health      flow.Health
	suspension  suspension
	unanswered  int         // requests in a row; belongs to run
	unconfirmed atomic.Bool // acknowledgements are not confirmed, which was logged
}

// delivery is a message that the server delivered to this process.
type delivery struct {
	raw     *natsgo.Msg
	msg     *message.Message
	forget  context.CancelFunc // ends the message's context
	settled atomic.Bool
}

func newSubscription(ctx context.Context, s *Source, topic string, st jetstream.Stream, c jetstream.ConsumerConfig) (*subscription, error) {
	name := st.CachedInfo().Config.Name
	b := &subscription{
		source: s, topic: topic, stream: name, consumer: c.Durable,
		api:   apiPrefix(s.o.Domain) + "CONSUMER.MSG.NEXT." + name + "." + c.Durable,
		inbox: s.link.nc.NewInbox(), out: make(chan *message.Message), wake: make(chan struct{}, 1),
		// Room for two requests: answers to an abandoned one may come late.
		in: make(chan *natsgo.Msg, 2*s.o.Window+64), done: make(chan *delivery, s.o.Window),
		held: make(map[*delivery]bool), every: ackWait(c) / 3, batch: s.o.Window, expires: pullTime,
	}
	if c.MaxRequestBatch > 0 {
		b.batch = min(b.batch, c.MaxRequestBatch)
	}
	if c.MaxRequestExpires > 0 {
		b.expires = min(b.expires, c.MaxRequestExpires)
	}
	b.maxBytes = int64(c.MaxRequestMaxBytes)
	var err error
	if b.inboxSub, err = s.link.nc.ChanSubscribe(b.inbox+".*", b.in); err != nil {
		return nil, err
	}
	b.ctx, b.cancel = context.WithCancel(ctx)
	b.timer = time.NewTimer(time.Hour)
	b.timer.Stop()
	return b, nil
}

// apiPrefix is the prefix of the subjects of JetStream's interface.
func apiPrefix(domain string) string {
	if domain == "" {
		return "$JS.API."
	}
	return "$JS." + domain + ".API."
}

// run runs the subscription until its end.
func (b *subscription) run() {
	defer close(b.out)
	defer b.end()
	beat := time.NewTicker(b.every)
	defer beat.Stop()
	for b.ctx.Err() == nil {
		b.ask()
		var out chan<- *message.Message
		var next *message.Message
		if len(b.queue) > 0 {
			out, next = b.out, b.queue[0].msg
		}
		select {
		case <-b.ctx.Done():
		case raw := <-b.in:
			if gone := b.receive(raw); gone {
				return
			}
		case out <- next:
			b.handOver()
		case d := <-b.done:
			b.letGo(d)
		case <-beat.C:
			b.beat()
		case <-b.timer.C:
			if b.asked > 0 {
				b.expired()
			}
			b.asked, b.resting = 0, false
			if b.source.link.nc.IsClosed() {
				b.source.o.logger().Error("the connection to NATS is closed; the subscription ends", "topic", b.topic)
				return
			}
		case <-b.wake:
			if b.paused.Load() {
				b.giveBackQueue()
			}
		}
	}
}

func (b *subscription) hold(d *delivery) {
	b.held[d] = true
	b.bytes += d.raw.Size()
}

func (b *subscription) letGo(d *delivery) {
	delete(b.held, d)
	b.bytes -= d.raw.Size()
}

// handOver removes the first message of the queue, which the caller has now.
func (b *subscription) handOver() {
	d := b.queue[0]
	b.queue[0] = nil
	b.queue = b.queue[1:]
	b.settling.Go(func() { b.settle(d) })
}

// beat reports progress on the held messages to the server.
func (b *subscription) beat() {
	for d := range b.held {
		if !d.settled.Load() {
			_ = b.source.link.nc.Publish(d.raw.Reply, inProgress) // the next one makes up for a failure
		}
	}
}

// giveBackQueue gives back messages that were not handed over.
func (b *subscription) giveBackQueue() {
	for _, d := range b.queue {
		b.nak(d, b.source.o.NackDelay)
		d.forget()
		b.letGo(d)
	}
	b.queue = nil
}

// end gives back all unsettled messages.
func (b *subscription) end() {
	b.cancel()
	b.timer.Stop()
	b.giveBackLate()
	for _, d := range b.queue {
		b.nak(d, 0)
		d.forget()
	}
	b.settling.Wait()
	// Send everything before the connection may be closed.
	_ = b.source.link.nc.FlushTimeout(time.Second)
}

// lateTime bounds the wait for messages that are under way when a subscription ends.
const lateTime = time.Second

// giveBackLate ends the request for messages, and gives back those that the server had
// already sent; they would otherwise come again only after AckWait.
func (b *subscription) giveBackLate() {
	timeout := time.NewTimer(lateTime)
	defer timeout.Stop()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	err := b.inboxSub.Drain() // it fails only on a closed connection
	for waiting := err == nil; ; {
		select {
		case raw := <-b.in:
			if isMessage(raw) {
				b.nak(&delivery{raw: raw}, 0)
			}
			continue
		default:
		}
		if !waiting {
			break
		}
		select {
		case <-look.C:
			waiting = b.inboxSub.IsValid()
		case <-timeout.C:
			waiting = false
		}
	}
	_ = b.inboxSub.Unsubscribe() // it fails only if there is nothing left to end
}
