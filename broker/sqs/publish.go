package sqs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// timeoutLeast is the shortest sensible timeout for a request.
const timeoutLeast = 100 * time.Millisecond

// shared is the common part of a Sink and a TopicSink.
type shared struct {
	orderKey func(topic string, m *message.Message) string
	byID     bool
	senders  int
	timeout  time.Duration
}

func newShared(orderKey func(string, *message.Message) string, byID bool, senders int, timeout time.Duration) (shared, error) {
	switch {
	case senders < 0 || senders > 64:
		return shared{}, fmt.Errorf("option Senders is %d: it may be 1 to 64, or 0 for the default", senders)
	case timeout != 0 && (timeout < timeoutLeast || timeout > time.Hour):
		return shared{}, fmt.Errorf("option Timeout is %s: it may be %s to 1h, or 0 for the default", timeout, timeoutLeast)
	}
	if orderKey == nil {
		orderKey = orderKeyOf
	}
	return shared{orderKey: orderKey, byID: byID, senders: cmp.Or(senders, 4), timeout: cmp.Or(timeout, 10*time.Second)}, nil
}

// Refusal is a message that the server rejected.
type Refusal struct {
	// Index is the message's index in the call of Publish, from 0.
	Index int
	// Code is the server's code for the reason, such as "InvalidMessageContents".
	Code string
	// Sender says that the message is the cause, and not the server.
	Sender bool
}

// RefusedError is the error of a Publish if only some messages were accepted. A caller
// that publishes all of them again sends some twice, with the same UUID.
type RefusedError struct {
	// Refused are the messages that were not accepted, in no order.
	Refused []Refusal
	// Messages is how many messages the call had.
	Messages int
}

// Error implements error.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("%d of %d messages were refused, the first with %s", len(e.Refused), e.Messages, e.Refused[0].Code)
}

// send sends one batch, and returns its rejected messages; an error if the result of the
// batch is unknown.
type send func(ctx context.Context, batch []outgoing) ([]Refusal, error)

// publish sends all messages in batches below limit bytes. Batches for a FIFO queue go
// one after the other, and none after a failure, so that no message overtakes one of its
// group.
func (s shared) publish(ctx context.Context, all []outgoing, fifo bool, limit int, one send) error {
	senders := s.senders
	if fifo {
		senders = 1
	}
	var (
		mu      sync.Mutex
		refused []Refusal
		errs    []error
		calls   sync.WaitGroup
		room    = make(chan struct{}, senders)
	)
	failed := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(errs) > 0 || fifo && len(refused) > 0
	}
	for _, batch := range batches(all, fifo, limit) {
		room <- struct{}{}
		if failed() {
			break
		}
		calls.Go(func() {
			defer func() { <-room }()
			ctx, cancel := context.WithTimeout(ctx, s.timeout)
			defer cancel()
			no, err := one(ctx, batch)
			mu.Lock()
			defer mu.Unlock()
			refused = append(refused, no...)
			if err != nil {
				errs = append(errs, err)
			}
		})
	}
	calls.Wait()
	if len(refused) > 0 {
		errs = append(errs, &RefusedError{Refused: refused, Messages: len(all)})
	}
	return errors.Join(errs...)
}

// batches divides the messages, in their order: at most ten, at most limit bytes, and for
// a FIFO queue no two of a group, since any message of a batch may be rejected alone.
func batches(all []outgoing, fifo bool, limit int) (list [][]outgoing) {
	var (
		begin, bytes int
		groups       = map[string]bool{}
	)
	for i, m := range all {
		if i-begin == batchMost || bytes+m.bytes > limit || fifo && groups[m.group] {
			list = append(list, all[begin:i])
			begin, bytes = i, 0
			clear(groups)
		}
		bytes += m.bytes
		groups[m.group] = true
	}
	return append(list, all[begin:])
}

// unnamed adds the messages of a batch that a response does not mention: they were not
// confirmed.
func unnamed(batch []outgoing, named results, refused []Refusal) []Refusal {
	for i, m := range batch {
		if named[i] == unknown {
			refused = append(refused, Refusal{Index: m.index, Code: "NotConfirmed"})
		}
	}
	return refused
}
