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

// timeoutLeast is the shortest time in which an answer may be hoped for.
const timeoutLeast = 100 * time.Millisecond

// shared is what a Sink and a TopicSink do alike.
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

// Refusal is a message that the server did not take.
type Refusal struct {
	// Index is the message's place in the call of Publish, from 0.
	Index int
	// Code is the server's code for the reason, as "InvalidMessageContents".
	Code string
	// Sender says that the message is to blame, and not the server.
	Sender bool
}

// RefusedError is the error of a Publish of which some messages were taken and some not.
// The caller that publishes all of them again sends some twice, with the same UUID.
type RefusedError struct {
	// Refused are the messages that were not taken, in no order.
	Refused []Refusal
	// Messages is how many messages the call had.
	Messages int
}

// Error implements error.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("%d of %d messages were refused, the first with %s", len(e.Refused), e.Messages, e.Refused[0].Code)
}

// send sends one batch, and returns what was not taken of it; an error where nothing is
// known of the batch.
type send func(ctx context.Context, batch []outgoing) ([]Refusal, error)

// publish sends everything in batches below limit bytes. Those of a FIFO queue go one
// after the other, and none after a failure, so that no message overtakes one of its group.
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

// batches divides the messages, in their order: ten at most, limit bytes at most, and in
// a FIFO queue no two of a group, since any of a batch may be refused alone.
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

// unnamed adds the messages of a batch that a response said nothing about: they were not
// confirmed.
func unnamed(batch []outgoing, named results, refused []Refusal) []Refusal {
	for i, m := range batch {
		if named[i] == unknown {
			refused = append(refused, Refusal{Index: m.index, Code: "NotConfirmed"})
		}
	}
	return refused
}
