package ledger

import (
	"context"
	"net/http/httptrace"
	"sync"
)

// Call is one call of a step. It is safe for concurrent use.
type Call struct {
	// Key is the idempotency key, a UUID. It is the same for every call of the step for
	// the message, in every process and after a restore of the database, until the system
	// has answered that it did nothing (Refused). It is no secret. Send it in the header
	// Idempotency-Key only to a system that drops repetitions: net/http takes the header as
	// leave to send a POST again by itself when a connection breaks. To others send it as a
	// reference.
	Key string
	// Number counts the calls of the step for the message, from 1.
	Number int

	mu       sync.Mutex
	id       string
	written  int // requests that were sent with the call's context
	answered int // and those of them that got an answer
}

// SetID names what the call made in the other system: it is stored with the result, and
// "headrace steps find" finds the message by it. It is for the function of Do and for
// Find. At most 512 bytes; more are cut off.
func (c *Call) SetID(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.id = id
}

// ID returns what SetID was given.
func (c *Call) ID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.id
}

// Trace returns a context in which the call counts the HTTP requests that net/http sends.
// Package internal/steps calls it for the function of Do.
func (c *Call) Trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteHeaders: func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.written++
		},
		GotFirstResponseByte: func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.answered++
		},
	})
}

// requests returns how many requests were written, and how many of them have no answer.
func (c *Call) requests() (written, unanswered int) {
	if c == nil {
		return 0, 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.written, max(0, c.written-c.answered)
}
