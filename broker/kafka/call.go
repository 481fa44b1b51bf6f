package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/headrace/headrace/outbox"
)

// ErrUnanswered matches the error of a message without an answer in time. The brokers may
// have it, or get it later.
var ErrUnanswered = errors.New("no answer in time; the brokers may have the message")

// answerGrace is how much longer than the client a call waits, so that the client can say
// why it dropped a record.
const answerGrace = time.Second

// call is one call of Publish. The client drops no record that it has sent until it knows
// the result; a caller that must not wait so long stops waiting itself.
type call struct {
	progress chan struct{} // gets a value with each answer

	mu       sync.Mutex
	answered []bool
	failed   []error
	over     bool // answers are ignored from now on
}

func newCall(messages int) *call {
	return &call{progress: make(chan struct{}, 1), answered: make([]bool, messages), failed: make([]error, messages)}
}

// answer records the result of message i.
func (c *call) answer(i int, err error) {
	if errors.Is(err, kerr.MessageTooLarge) {
		err = fmt.Errorf("%w: %w", outbox.ErrTooLarge, err)
	}
	c.mu.Lock()
	if !c.over {
		c.answered[i], c.failed[i] = true, err
	}
	c.mu.Unlock()
	signal(c.progress)
}

func (c *call) has(i int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answered[i]
}

// wait waits for the answer of each message, until ctx or the message's own context ends.
// It returns one error for each message, or nil if none failed.
func (c *call) wait(ctx context.Context, messages []*message.Message) []error {
	unanswered := make(map[int]error)
	for i, m := range messages {
		for unanswered[i] == nil && !c.has(i) {
			select {
			case <-c.progress:
			case <-m.Context().Done():
				unanswered[i] = m.Context().Err()
			case <-ctx.Done():
				unanswered[i] = ctx.Err()
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	for i, err := range unanswered {
		if !c.answered[i] {
			c.failed[i] = fmt.Errorf("%w: %w", ErrUnanswered, err)
		}
	}
	if !slices.ContainsFunc(c.failed, func(err error) bool { return err != nil }) {
		return nil
	}
	return c.failed
}
