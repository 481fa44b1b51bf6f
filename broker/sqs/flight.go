package sqs

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/headrace/headrace/broker/internal/flow"
)

const (
	// settlers is how many batch requests of a kind may run at once.
	settlers = 8
	// requestTime bounds one request, including the SDK's own retries.
	requestTime = 20 * time.Second
)

// held is a message that was received and is not settled.
type held struct {
	msg     *message.Message
	cancel  context.CancelFunc // of the message's context
	receipt string
	size    int
	group   string // of a FIFO queue
	since   time.Time
	back    time.Duration // how long until it may be received after it is given back

	// turn is held while its visibility is changed: a beat after the message was given
	// back would hide it again.
	turn sync.Mutex
	// until is when others may receive it; guarded by the flight's mu, like lost.
	until time.Time
	lost  bool // SQS has taken it back, which no beat can change
}

// flight keeps the messages of a subscription hidden from other receivers until they are
// settled, and settles them in batches.
type flight struct {
	client     Client
	url        *string
	visibility time.Duration
	window     chan struct{}
	bytes      *flow.Bytes
	log        *slog.Logger

	deletes *flow.Batcher[*held]
	returns *flow.Batcher[*held]
	heart   sync.WaitGroup
	end     context.CancelFunc // of the heart
	off     bool               // it has none
	beats   *flow.Outage

	mu  sync.Mutex
	all map[*held]struct{}
}

func newFlight(u *subscription) *flight {
	f := &flight{
		client: u.s.o.Client, url: &u.l.url, visibility: u.l.visibility, window: u.window, bytes: &u.bytes,
		off: u.s.o.UnsafeNoHeartbeat, all: map[*held]struct{}{}, log: u.log,
	}
	f.beats = newOutage(f.log, "keep messages in work hidden on SQS")
	f.deletes = newBatcher(f.delete, newOutage(f.log, "delete handled messages from SQS"))
	f.returns = newBatcher(f.change, newOutage(f.log, "give messages back to SQS"))
	return f
}

func newBatcher(do func(context.Context, []*held) ([]*held, error), trouble *flow.Outage) *flow.Batcher[*held] {
	return &flow.Batcher[*held]{Do: do, Trouble: trouble, Batch: batchMost, Workers: settlers, Timeout: requestTime}
}

// start starts the goroutines; their requests end with ctx.
func (f *flight) start(ctx context.Context) {
	f.deletes.Start(ctx, cap(f.window))
	f.returns.Start(ctx, cap(f.window))
	heart, end := context.WithCancel(ctx)
	f.end = end
	if !f.off {
		f.heart.Go(func() { f.beat(heart) })
	}
}

// stop waits until all added messages are settled.
func (f *flight) stop() {
	f.deletes.Stop()
	f.returns.Stop()
	f.end()
	f.heart.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	for h := range f.all { // messages that could not be settled in time come again
		h.cancel()
	}
}

func (f *flight) add(batch []*held) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, h := range batch {
		f.all[h] = struct{}{}
		f.bytes.Add(h.size)
	}
}

// giveBack lets others receive the messages after d.
func (f *flight) giveBack(d time.Duration, batch ...*held) {
	for _, h := range batch {
		h.back = d
		f.returns.Add(h)
	}
}

// settled removes h.
func (f *flight) settled(h *held) {
	f.mu.Lock()
	delete(f.all, h)
	f.mu.Unlock()
	h.cancel()
	f.bytes.Free(h.size)
	<-f.window
}

// delete deletes handled messages, and returns those to try again.
func (f *flight) delete(ctx context.Context, batch []*held) ([]*held, error) {
	in := &awssqs.DeleteMessageBatchInput{QueueUrl: f.url}
	for i, h := range batch {
		in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{Id: entry(i), ReceiptHandle: &h.receipt})
	}
	out, err := f.client.DeleteMessageBatch(ctx, in)
	if missing(err) { // its messages are gone too
		for _, h := range batch {
			f.settled(h)
		}
		return nil, nil
	}
	if err != nil {
		return batch, err
	}
	r := newResults(len(batch), out.Failed)
	for _, e := range out.Successful {
		r.done(e.Id)
	}
	refused := 0
	again := batch[:0]
	for i, h := range batch {
		switch r[i] {
		case refusal:
			refused++
			fallthrough
		case success:
			f.settled(h)
		case unknown:
			again = append(again, h)
		}
	}
	if refused > 0 {
		f.log.Warn("SQS had taken messages back before they were deleted: they come again, as duplicates", "messages", refused)
	}
	return again, nil
}

// change gives messages back, and returns those to try again: the ones that are still
// hidden from others.
func (f *flight) change(ctx context.Context, batch []*held) ([]*held, error) {
	for _, h := range batch {
		h.turn.Lock()
		defer h.turn.Unlock()
	}
	r, err := f.visible(ctx, batch, func(h *held) time.Duration { return h.back })
	var again []*held
	for i, h := range batch {
		if r[i] == unknown && f.hidden(h) && !missing(err) {
			again = append(again, h)
		} else {
			f.settled(h)
		}
	}
	return again, err
}

func (f *flight) hidden(h *held) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Now().Before(h.until)
}

// visible sets for each of a batch when others may receive it.
func (f *flight) visible(ctx context.Context, batch []*held, after func(*held) time.Duration) (results, error) {
	in := &awssqs.ChangeMessageVisibilityBatchInput{QueueUrl: f.url}
	for i, h := range batch {
		in.Entries = append(in.Entries, types.ChangeMessageVisibilityBatchRequestEntry{
			Id: entry(i), ReceiptHandle: &h.receipt, VisibilityTimeout: int32(after(h) / time.Second),
		})
	}
	out, err := f.client.ChangeMessageVisibilityBatch(ctx, in)
	if err != nil {
		return newResults(len(batch), nil), err
	}
	r := newResults(len(batch), out.Failed)
	for _, e := range out.Successful {
		r.done(e.Id)
	}
	return r, nil
}
