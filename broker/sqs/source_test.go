package sqs_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/broker/sqs"
)

// client is the real one, with a look at its calls and failures on command: ElasticMQ
// fails none of its own.
type client struct {
	*awssqs.Client
	receives, deletes, beats atomic.Int64
	// received is called when a receive call has brought messages.
	received func()
	// refuse makes an entry of a batch fail; its argument is the kind of call.
	refuse func(call string, entry int) *types.BatchResultErrorEntry
	// says are attributes that the queue says it has.
	says map[string]string
}

func (c *client) GetQueueAttributes(ctx context.Context, in *awssqs.GetQueueAttributesInput, o ...func(*awssqs.Options)) (*awssqs.GetQueueAttributesOutput, error) {
	out, err := c.Client.GetQueueAttributes(ctx, in, o...)
	if err == nil {
		maps.Copy(out.Attributes, c.says)
	}
	return out, err
}

func (c *client) ReceiveMessage(ctx context.Context, in *awssqs.ReceiveMessageInput, o ...func(*awssqs.Options)) (*awssqs.ReceiveMessageOutput, error) {
	c.receives.Add(1)
	out, err := c.Client.ReceiveMessage(ctx, in, o...)
	if err == nil && len(out.Messages) > 0 && c.received != nil {
		c.received()
	}
	return out, err
}

func (c *client) DeleteMessageBatch(ctx context.Context, in *awssqs.DeleteMessageBatchInput, o ...func(*awssqs.Options)) (*awssqs.DeleteMessageBatchOutput, error) {
	c.deletes.Add(1)
	var failed []types.BatchResultErrorEntry
	copied := *in
	copied.Entries = nil
	for i, e := range in.Entries {
		if no := c.refused("delete", i); no != nil {
			no.Id = e.Id
			failed = append(failed, *no)
			continue
		}
		copied.Entries = append(copied.Entries, e)
	}
	if len(copied.Entries) == 0 {
		return &awssqs.DeleteMessageBatchOutput{Failed: failed}, nil
	}
	out, err := c.Client.DeleteMessageBatch(ctx, &copied, o...)
	if err == nil {
		out.Failed = append(out.Failed, failed...)
	}
	return out, err
}

func (c *client) ChangeMessageVisibilityBatch(ctx context.Context, in *awssqs.ChangeMessageVisibilityBatchInput, o ...func(*awssqs.Options)) (*awssqs.ChangeMessageVisibilityBatchOutput, error) {
	c.beats.Add(1)
	return c.Client.ChangeMessageVisibilityBatch(ctx, in, o...)
}

func (c *client) refused(call string, i int) *types.BatchResultErrorEntry {
	if c.refuse == nil {
		return nil
	}
	return c.refuse(call, i)
}

// TestForeignMessage: a sender that knows nothing of Watermill. TRAPS, aws: MessageId is
// the id; the attributes are text; the receive count is known. Guard: read, FactsFrom.
func TestForeignMessage(t *testing.T) {
	t.Parallel()
	b := newQueue(t, false, "VisibilityTimeout", "30")
	id := b.sendInput(&awssqs.SendMessageInput{MessageBody: aws.String("hello"), MessageAttributes: map[string]types.MessageAttributeValue{
		"n": {DataType: aws.String("Number"), StringValue: aws.String("17")},
		"b": {DataType: aws.String("Binary"), BinaryValue: []byte{0xff, 0}},
	}})
	m := b.next(b.subscribe(b.source(sqs.SourceOptions{})))
	if m.UUID != id || string(m.Payload) != "hello" || m.Metadata["n"] != "17" || m.Metadata["b"] != "base64:/wA=" {
		t.Errorf("%q %q %v", m.UUID, m.Payload, m.Metadata)
	}
	want := headrace.Coordinates{Broker: "sqs", Topic: b.topic, Position: id}
	if a := headrace.ArrivalFrom(m.Context()); a.Coordinates != want || a.OrderKey != "" || a.Unreadable != nil {
		t.Errorf("arrival %+v", a)
	}
	if f := sqs.FactsFrom(m.Context()); f.ReceiveCount != 1 || f.MessageID != id || time.Since(f.Sent).Abs() > time.Minute {
		t.Errorf("facts %+v", f)
	}
	m.Ack()
	b.emptied()
}

// TestManyInFlightAndDeletedInBatches. TRAPS, aws: one in flight, deleted one by one, and
// the rest of a batch dropped after a nack. Guard: subscription.give, batcher.gather.
func TestManyInFlightAndDeletedInBatches(t *testing.T) {
	t.Parallel()
	b := newQueue(t, false, "VisibilityTimeout", "20")
	const n = 100
	for i := range n {
		b.send(fmt.Sprint(i))
	}
	c := &client{Client: b.client}
	messages := b.subscribe(b.source(sqs.SourceOptions{Client: c}))
	seen := map[string]*message.Message{}
	for len(seen) < n {
		m := b.next(messages)
		seen[string(m.Payload)] = m
	}
	nacked := seen["0"]
	nacked.Nack()
	delete(seen, "0")
	for _, m := range seen {
		m.Ack()
	}
	again := b.next(messages)
	if string(again.Payload) != "0" || again.UUID != nacked.UUID {
		t.Errorf("%q came again", again.Payload)
	}
	if f := sqs.FactsFrom(again.Context()); f.ReceiveCount != 2 {
		t.Errorf("received %d times", f.ReceiveCount)
	}
	again.Ack()
	b.emptied()
	if d := c.deletes.Load(); d > n/2 {
		t.Errorf("%d requests deleted %d messages", d, n)
	}
}

// TestWindow: no more than InFlight are received.
func TestWindow(t *testing.T) {
	t.Parallel()
	b := newQueue(t, false, "VisibilityTimeout", "20")
	for i := range 20 {
		b.send(fmt.Sprint(i))
	}
	messages := b.subscribe(b.source(sqs.SourceOptions{InFlight: 3}))
	first := b.next(messages)
	b.next(messages).Ack()
	b.next(messages)
	b.next(messages)
	b.none(messages, 300*time.Millisecond)
	first.Ack()
	b.next(messages)
}

// TestHeartbeat: a handler that takes three times the visibility timeout keeps its
// message. INVARIANTS fault 54. Guard: flight.beat; UnsafeNoHeartbeat shows what happens
// without it.
//
//evidence:sqs
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	b := newQueue(t, false, "VisibilityTimeout", "3")
	b.send("slow")
	messages := b.subscribe(b.source(sqs.SourceOptions{}))
	m := b.next(messages)
	b.none(messages, 9*time.Second)
	m.Ack()
	b.emptied()

	bare := newQueue(t, false, "VisibilityTimeout", "1")
	bare.send("slow")
	messages = bare.subscribe(bare.source(sqs.SourceOptions{UnsafeNoHeartbeat: true}))
	bare.next(messages)
	bare.next(messages).Ack()
}

// TestNackWaits: TRAPS, Nack: no delay. Guard: SourceOptions.NackDelay.
func TestNackWaits(t *testing.T) {
	t.Parallel()
	b := newQueue(t, false, "VisibilityTimeout", "30")
	b.send("bad")
	messages := b.subscribe(b.source(sqs.SourceOptions{NackDelay: 2 * time.Second}))
	m := b.next(messages)
	at := time.Now()
	m.Nack()
	b.next(messages).Ack()
	if d := time.Since(at); d < 1500*time.Millisecond {
		t.Errorf("it came again after %s", d)
	}
	b.emptied()
}

// TestPause: while a topic is paused nothing is received, and untaken messages are given
// back at once for other processes. Guard: gate.
func TestPause(t *testing.T) {
	t.Parallel()
	b := newQueue(t, false, "VisibilityTimeout", "30")
	c := &client{Client: b.client}
	s := b.source(sqs.SourceOptions{Client: c})
	messages := b.subscribe(s)
	for i := range 5 {
		b.send(fmt.Sprint(i))
	}
	held := b.next(messages)
	s.Pause(b.topic)
	s.Pause(b.topic)
	other := b.source(sqs.SourceOptions{})
	elsewhere := b.subscribe(other)
	for range 4 {
		b.next(elsewhere).Ack()
	}
	_ = other.Close()
	time.Sleep(1200 * time.Millisecond) // the receive call that was under way ends
	before := c.receives.Load()
	b.send("later")
	b.none(messages, 1500*time.Millisecond)
	if n := c.receives.Load() - before; n > 0 {
		t.Errorf("%d receive calls while paused", n)
	}
	held.Ack() // what was handed over may be settled
	s.Resume(b.topic)
	s.Resume(b.topic)
	if m := b.next(messages); string(m.Payload) != "later" {
		t.Errorf("%q", m.Payload)
	} else {
		m.Ack()
	}
	b.emptied()
}

// TestPauseDuringReceive: what a call brings that was under way at the pause is given to
// no handler, also if one waits for it. Guard: flow.Gate.Offer.
func TestPauseDuringReceive(t *testing.T) {
	t.Parallel()
	b := newQueue(t, false, "VisibilityTimeout", "60")
	c := &client{Client: b.client}
	s := b.source(sqs.SourceOptions{Client: c, Receivers: 1})
	c.received = func() { s.Pause(b.topic) }
	messages := b.subscribe(s)
	b.send("a")
	for range 8 { // it may be given to no handler by chance
		b.none(messages, 300*time.Millisecond)
		s.Resume(b.topic)
	}
}

// TestFIFO: the group is the order key, and its order is kept, also behind a nack: for
// a caller that gives back, as package consumer does, what was on its way. Guard: groups.
func TestFIFO(t *testing.T) {
	t.Parallel()
	b := newQueue(t, true, "VisibilityTimeout", "20")
	for i := range 25 {
		b.send(fmt.Sprint(i))
	}
	messages := b.subscribe(b.source(sqs.SourceOptions{}))
	overtaking := 0
	for i := 0; i < 25; {
		m := b.next(messages)
		if key := headrace.ArrivalFrom(m.Context()).OrderKey; key != "g" {
			t.Fatalf("order key %q", key)
		}
		switch count := sqs.FactsFrom(m.Context()).ReceiveCount; {
		case string(m.Payload) != fmt.Sprint(i):
			if overtaking++; i != 12 || overtaking > 1 { // the one that was on offer already
				t.Fatalf("message %q instead of %d", m.Payload, i)
			}
			m.Nack()
		case i == 12 && count == 1:
			m.Nack()
			time.Sleep(time.Second) // the source hears of it, without a sign to the test
		default:
			m.Ack()
			i++
		}
	}
	b.emptied()
}

// TestDeleteResults: each entry of a batch counts for itself. What failed on the server is
// tried again, and what was refused comes again. Guard: newResults in flight.delete.
//
//evidence:sqs
func TestDeleteResults(t *testing.T) {
	t.Parallel()
	b := newQueue(t, false, "VisibilityTimeout", "4")
	var once sync.Once
	var fails atomic.Int64
	c := &client{Client: b.client, refuse: func(call string, i int) (no *types.BatchResultErrorEntry) {
		if fails.Add(1) <= 3 {
			return &types.BatchResultErrorEntry{Code: aws.String("InternalError")}
		}
		once.Do(func() {
			no = &types.BatchResultErrorEntry{Code: aws.String("ReceiptHandleIsInvalid"), SenderFault: true}
		})
		return no
	}}
	messages := b.subscribe(b.source(sqs.SourceOptions{Client: c}))
	b.send("a")
	b.next(messages).Ack()
	m := b.next(messages)
	if f := sqs.FactsFrom(m.Context()); f.ReceiveCount != 2 {
		t.Errorf("received %d times", f.ReceiveCount)
	}
	m.Ack()
	b.emptied()
	if n := fails.Load(); n < 5 {
		t.Errorf("%d tries", n)
	}
}

// TestQueueGone: an ended subscription closes its channel.
func TestQueueGone(t *testing.T) {
	t.Parallel()
	b := newQueue(t, false)
	source := b.source(sqs.SourceOptions{})
	source.SetGone(time.Second)
	messages := b.subscribe(source)
	if _, err := b.client.DeleteQueue(t.Context(), &awssqs.DeleteQueueInput{QueueUrl: &b.url}); err != nil {
		t.Fatal(err)
	}
	select {
	case _, ok := <-messages:
		if ok {
			t.Error("a message")
		}
	case <-time.After(waitTimeout): // ElasticMQ may leave the call that waits without an answer
		t.Error("the subscription goes on")
	}
}

// TestQueueMadeAgain: a queue that is missing for a moment keeps its subscription.
func TestQueueMadeAgain(t *testing.T) {
	t.Parallel()
	b := newQueue(t, false)
	var asked atomic.Int32
	c := &failing{Client: b.client, receive: func() error {
		if asked.Add(1) <= 3 {
			return &types.QueueDoesNotExist{}
		}
		return nil
	}}
	messages := b.subscribe(b.source(sqs.SourceOptions{Client: c}))
	b.send("a")
	b.next(messages).Ack()
	go func() { // what was sent twice, or is delivered twice
		for m := range messages {
			m.Ack()
		}
	}()
	b.emptied()
}

// TestCloseGivesBack: what is in flight at Close is there for others at once, and what is
// acknowledged is deleted.
func TestCloseGivesBack(t *testing.T) {
	t.Parallel()
	b := newQueue(t, false, "VisibilityTimeout", "600")
	b.send("a", "b", "c")
	s := b.source(sqs.SourceOptions{})
	messages := b.subscribe(s)
	b.next(messages)
	b.next(messages).Ack()
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Subscribe(t.Context(), b.topic); !errors.Is(err, sqs.ErrClosed) {
		t.Errorf("Subscribe after Close: %v", err)
	}
	messages = b.subscribe(b.source(sqs.SourceOptions{}))
	b.next(messages).Ack()
	b.next(messages).Ack()
	b.emptied()
}

// TestMaxBytes: what a subscription holds is bounded in bytes: a receive asks for as many
// messages as are likely to fit. Others come when some are settled. Guard: flow.Bytes.Take.
func TestMaxBytes(t *testing.T) {
	t.Parallel()
	b := newQueue(t, false, "VisibilityTimeout", "30")
	const all, size, most = 40, 50_000, 200_000
	for i := range all {
		b.send(fmt.Sprintf("%03d%s", i, strings.Repeat("x", size)))
	}
	messages := b.subscribe(b.source(sqs.SourceOptions{MaxBytes: most, Receivers: 1, WaitTime: time.Second}))
	var held []*message.Message
	for quiet := false; !quiet; {
		select {
		case m := <-messages:
			held = append(held, m)
		case <-time.After(3 * time.Second):
			quiet = len(held) > 0
		}
	}
	// The size is unknown to the first receive, which asks for 8 messages.
	if n := len(held); n < most/size || n > 8 {
		t.Errorf("%d messages are held", n)
	}
	for came := len(held); came < all; came++ {
		for len(held) >= most/size {
			held[0].Ack()
			held = held[1:]
		}
		held = append(held, b.next(messages))
	}
	for _, m := range held {
		m.Ack()
	}
	b.emptied()
}
