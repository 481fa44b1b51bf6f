package sqs

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/uuid"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/broker/internal/flow"
	"github.com/headrace/headrace/internal/sleep"
)

// receiveTime bounds a receive call, in addition to its wait for a message.
const receiveTime = 10 * time.Second

// subscription is one call of Subscribe: receivers that take batches, and the flight that
// keeps received messages until they are settled.
type subscription struct {
	s    *Source
	l    limits
	gate *flow.Gate
	// ctx ends when receiving and handing over stop.
	ctx    context.Context
	cancel context.CancelFunc
	out    chan *message.Message
	// window holds a token for each message in flight; bytes counts their size.
	window chan struct{}
	bytes  flow.Bytes
	// more wakes another receiver.
	more    chan struct{}
	flight  *flight
	watched sync.WaitGroup // goroutines that wait for unsettled messages
	receive *flow.Outage
	gone    absence
	health  flow.Health
	log     *slog.Logger
}

func newSubscription(s *Source, ctx context.Context, l limits, window int) *subscription {
	u := &subscription{
		s: s, l: l, out: make(chan *message.Message),
		window: make(chan struct{}, window), bytes: flow.Bytes{Most: s.o.MaxBytes}, more: make(chan struct{}, s.o.Receivers),
	}
	u.ctx, u.cancel = context.WithCancel(ctx)
	u.log = s.o.Logger.With("queue", l.name)
	u.receive = newOutage(u.log, "receive from SQS")
	u.flight = newFlight(u)
	return u
}

// run returns when all received messages are settled or given back.
func (u *subscription) run() {
	defer u.cancel()
	stop := context.AfterFunc(u.s.closing, u.cancel)
	defer stop()
	settling, end := context.WithCancel(context.WithoutCancel(u.ctx))
	defer end()
	u.flight.start(settling)
	var receivers sync.WaitGroup
	for i := range u.s.o.Receivers {
		receivers.Go(func() { u.receiver(i == 0) })
	}
	receivers.Wait()
	u.watched.Wait()
	limit := time.AfterFunc(u.s.o.CloseTimeout, end)
	defer limit.Stop()
	u.flight.stop()
	close(u.out)
}

// receiver takes batches until the subscription ends; all but the first do so only while
// the calls return full batches.
func (u *subscription) receiver(first bool) {
	for busy := first; u.ctx.Err() == nil; {
		if !busy && !first {
			select {
			case <-u.more:
			case <-u.ctx.Done():
				return
			}
		}
		if !u.gate.Wait(u.ctx) {
			return
		}
		n := u.bytes.Take(u.ctx, u.window, batchMost)
		if n == 0 {
			return
		}
		batch, err := u.take(n)
		for range n - len(batch) {
			<-u.window
		}
		if busy = err == nil && len(batch) == batchMost; busy {
			select {
			case u.more <- struct{}{}:
			default:
			}
		}
		u.give(batch)
	}
}

// take receives up to n messages. After an error it has waited; if the queue has been gone
// for long it has ended the subscription.
func (u *subscription) take(n int) ([]*held, error) {
	in := &awssqs.ReceiveMessageInput{
		QueueUrl: &u.l.url, MaxNumberOfMessages: int32(n),
		WaitTimeSeconds:             int32(u.s.o.WaitTime / time.Second),
		VisibilityTimeout:           int32(u.l.visibility / time.Second),
		MessageAttributeNames:       []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	}
	if u.l.fifo() {
		// With it, the SDK's own retries of this call get the same messages again.
		attempt := uuid.NewString()
		in.ReceiveRequestAttemptId = &attempt
	}
	// A silently cut connection never answers, so the call has a deadline.
	ctx, cancel := context.WithTimeout(u.ctx, u.s.o.WaitTime+receiveTime)
	defer cancel()
	out, err := u.s.o.Client.ReceiveMessage(ctx, in, trusting)
	if err != nil {
		if u.ctx.Err() == nil {
			u.failed(err)
		}
		return nil, err
	}
	u.gone.ended()
	u.receive.Over()
	u.health.Is(nil)
	batch := make([]*held, 0, len(out.Messages))
	for i := range out.Messages {
		if h := u.hold(&out.Messages[i]); h != nil {
			batch = append(batch, h)
		}
	}
	return batch, nil
}

// hold makes a message for the consumer; nil if its bytes were damaged in transit, so
// that it is left to come again.
func (u *subscription) hold(m *types.Message) *held {
	if damaged(m) {
		u.log.Warn("a message arrived damaged: it is left to come again")
		return nil
	}
	msg, arrival, facts := read(m, u.l.queue, u.s.o.SNS)
	ctx, cancel := context.WithCancel(context.WithValue(headrace.WithArrival(u.ctx, arrival), factsKey{}, facts))
	msg.SetContext(ctx)
	now := time.Now()
	return &held{
		msg: msg, cancel: cancel, receipt: aws.ToString(m.ReceiptHandle), group: arrival.OrderKey,
		size: size(m), since: now, until: now.Add(u.l.visibility),
	}
}

// size is how many bytes of m its sender wrote.
func size(m *types.Message) int {
	n := len(aws.ToString(m.Body))
	for name, a := range m.MessageAttributes {
		n += len(name) + len(aws.ToString(a.StringValue)) + len(a.BinaryValue)
	}
	return n
}

// trusting keeps the SDK from rejecting a whole batch for one body with a wrong MD5; hold
// checks each.
func trusting(o *awssqs.Options) { o.DisableMessageChecksumValidation = true }

func (u *subscription) failed(err error) {
	switch {
	case !missing(err):
		u.gone.ended()
	case u.gone.lasts() > u.s.gone:
		u.log.Error("the subscription ends: the queue was deleted and not made again", "timeout", u.s.gone)
		u.cancel()
		return
	}
	u.receive.Began(err)
	u.health.Is(u.receive.Err())
	sleep.For(u.ctx, u.receive.Pause())
}

// goneTimeout is how long a queue may be missing before its subscription ends: SQS does not
// know a new queue everywhere at once.
const goneTimeout = 30 * time.Second

// absence is the time for which a queue is missing. Safe for concurrent use.
type absence struct {
	mu    sync.Mutex
	since time.Time
}

// lasts says that the queue is missing, and returns for how long it has been.
func (a *absence) lasts() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.since.IsZero() {
		a.since = time.Now()
	}
	return time.Since(a.since)
}

func (a *absence) ended() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.since = time.Time{}
}

// give hands out the messages of a batch one after the other, in their order. It gives
// back the remaining ones when the topic is paused or the subscription ends, and in a
// FIFO queue those behind a nacked message of their group.
func (u *subscription) give(batch []*held) {
	u.flight.add(batch)
	broken := &groups{}
	for i, h := range batch {
		if broken.has(h.group) {
			u.flight.giveBack(0, h)
			continue
		}
		if !u.gate.Offer(u.ctx, u.out, h.msg) {
			u.flight.giveBack(0, batch[i:]...)
			return
		}
		u.watched.Go(func() { u.watch(h, broken) })
	}
}

// watch waits until the message is settled, or the subscription ends.
func (u *subscription) watch(h *held, broken *groups) {
	select {
	case <-h.msg.Acked():
		u.flight.deletes.Add(h)
		return
	case <-h.msg.Nacked():
		broken.add(h.group)
		u.flight.giveBack(u.s.o.NackDelay, h)
		return
	case <-u.ctx.Done():
	}
	select {
	case <-h.msg.Acked():
		u.flight.deletes.Add(h)
	default:
		u.flight.giveBack(0, h)
	}
}

// groups are message groups with a gap in their order. Safe for concurrent use.
type groups struct{ names sync.Map }

func (g *groups) add(name string) {
	if name != "" {
		g.names.Store(name, true)
	}
}

func (g *groups) has(name string) bool {
	_, found := g.names.Load(name)
	return found
}
