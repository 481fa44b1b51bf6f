package nats

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// subscription is what one Subscribe began. One goroutine, run, does everything but wait
// for what becomes of the messages.
type subscription struct {
	source   *Source
	topic    string
	stream   string
	consumer string
	api      string // the subject to ask at
	inbox    string
	in       chan *natsgo.Msg
	inboxSub *natsgo.Subscription
	out      chan *message.Message
	wake     chan struct{} // paused has changed
	paused   atomic.Bool
	ctx      context.Context
	cancel   context.CancelFunc
	every    time.Duration // between words to the server about what is held
	batch    int           // the most that may be asked for at once
	expires  time.Duration // how long the server may keep a request

	// Of run alone.
	held     map[*delivery]bool // asked for and not settled
	queue    []*delivery        // those of held that were not handed over
	asked    int                // still to come for the request
	request  uint64             // its number
	resting  bool               // nothing is asked before the timer fires
	timer    *time.Timer        // ends a request that nobody answers, or a rest
	trouble  bool               // the server refuses, and it was logged
	missing  int                // how often in a row the consumer was not there
	done     chan *delivery     // settled ones
	settling sync.WaitGroup

	bytes    int   // of held
	maxBytes int64 // the most that may be asked for at once; 0 is no limit
	large    bool  // the next message waits until nothing is held

	unanswered  int         // requests in a row; of run alone
	unconfirmed atomic.Bool // acknowledgements are not confirmed, and that was logged
}

// delivery is a message that the server gave to this process.
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
		// Room for two requests: answers to one that was given up may come late.
		in: make(chan *natsgo.Msg, 2*s.o.Window+64), done: make(chan *delivery, s.o.Window),
		held: make(map[*delivery]bool), every: patience(c) / 3, batch: s.o.Window, expires: pullTime,
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

// apiPrefix is what the subjects of JetStream's interface begin with.
func apiPrefix(domain string) string {
	if domain == "" {
		return "$JS.API."
	}
	return "$JS." + domain + ".API."
}

// run is the life of the subscription.
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

// handOver lets go of the first of the queue, which the caller has now.
func (b *subscription) handOver() {
	d := b.queue[0]
	b.queue[0] = nil
	b.queue = b.queue[1:]
	b.settling.Go(func() { b.settle(d) })
}

// beat tells the server that what is held is being worked on.
func (b *subscription) beat() {
	for d := range b.held {
		if !d.settled.Load() {
			_ = b.source.link.nc.Publish(d.raw.Reply, inProgress) // the next one makes up for it
		}
	}
}

// giveBackQueue gives back what nobody has taken yet.
func (b *subscription) giveBackQueue() {
	for _, d := range b.queue {
		b.nak(d, b.source.o.NackDelay)
		d.forget()
		b.letGo(d)
	}
	b.queue = nil
}

// end gives back everything that is not settled.
func (b *subscription) end() {
	b.cancel()
	b.timer.Stop()
	b.giveBackLate()
	for _, d := range b.queue {
		b.nak(d, 0)
		d.forget()
	}
	b.settling.Wait()
	// What was said is on its way before the connection may be closed.
	_ = b.source.link.nc.FlushTimeout(time.Second)
}

// lateTime bounds the wait for messages that are on their way when a subscription ends.
const lateTime = time.Second

// giveBackLate ends the request for messages, and gives back what the server had sent
// before it knew, which would come again after AckWait only.
func (b *subscription) giveBackLate() {
	giveUp := time.NewTimer(lateTime)
	defer giveUp.Stop()
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
		case <-giveUp.C:
			waiting = false
		}
	}
	_ = b.inboxSub.Unsubscribe() // it fails only where nothing is left to end
}
