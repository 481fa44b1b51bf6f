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

	mu        sync.Mutex
	id        string
	begun     int // requests that were begun with the call's context
	connected int // those of them that got a connection
	written   int // those that were sent
	answered  int // those that got an answer
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
	count := func(n *int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		*n++
	}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:              func(string) { count(&c.begun) },
		GotConn:              func(httptrace.GotConnInfo) { count(&c.connected) },
		WroteHeaders:         func() { count(&c.written) },
		GotFirstResponseByte: func() { count(&c.answered) },
	})
}

// unsent reports whether no request of the call was written. said is that its error says so: it
// decides where the requests were sent without the call's context.
func (c *Call) unsent(said bool) bool {
	if c == nil {
		return said
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// One with a connection may be written yet, though its context has ended.
	return c.written == 0 && (said || c.begun > 0 && c.connected == 0)
}

// answeredBy reports whether every request of the call has an answer, and there are at most n.
func (c *Call) answeredBy(n int) bool {
	if c == nil {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.written <= min(n, c.answered)
}
