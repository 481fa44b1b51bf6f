package amqp

import (
	"errors"
	"fmt"
	"strings"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

var (
	// ErrClosed is returned by what was closed before.
	ErrClosed = errors.New("amqp: closed")
	// ErrReturned matches the error of a message that no queue takes: the queue that
	// the topic stands for does not exist, or nothing is bound to the exchange.
	ErrReturned = errors.New("no queue takes it (returned)")
	// ErrNotConfirmed matches the error of a message that the broker has refused to
	// keep, or of which nobody knows whether it has it, because the connection or the
	// channel ended first.
	ErrNotConfirmed = errors.New("not confirmed")
	// ErrBlocked matches the error of Publish while the broker takes no messages,
	// because it is short of memory or disk.
	ErrBlocked = errors.New("the broker takes no messages: it is short of memory or disk")
	// ErrTooLarge matches the error of a message that the protocol cannot carry: its
	// headers exceed a frame, or the name of one has more than 255 bytes.
	ErrTooLarge = errors.New("too large for the protocol")
)

// PublishError is what Publish returns where it knows what became of each message. It
// matches what the failures match.
type PublishError struct {
	// Messages is how many were to be published.
	Messages int
	// Failures are those that the broker does not have, or may not have, in the order in
	// which they were given. All the others it has.
	Failures []Failure
}

// Failure is a message that Publish has not published.
type Failure struct {
	// Index is its place among the messages of the call, from 0.
	Index int
	// Err says why.
	Err error
}

// Error implements error. It holds no ids and nothing of a payload.
func (e *PublishError) Error() string {
	if e.Messages == 1 {
		return "amqp: " + e.Failures[0].Err.Error()
	}
	said := make([]string, 0, 3)
	for _, f := range e.Failures {
		if text := f.Err.Error(); len(said) < cap(said) && !contains(said, text) {
			said = append(said, text)
		}
	}
	return fmt.Sprintf("amqp: %d of %d messages are not published: %s", len(e.Failures), e.Messages, strings.Join(said, "; "))
}

// Unwrap returns the errors of the failures.
func (e *PublishError) Unwrap() []error {
	all := make([]error, len(e.Failures))
	for i, f := range e.Failures {
		all[i] = f.Err
	}
	return all
}

func contains(said []string, text string) bool {
	for _, s := range said {
		if s == text {
			return true
		}
	}
	return false
}

// refusal returns the broker's answer with this code, if err is one.
func refusal(err error, codes ...int) *amqp091.Error {
	var e *amqp091.Error
	if !errors.As(err, &e) || !e.Server {
		return nil
	}
	for _, code := range codes {
		if e.Code == code {
			return e
		}
	}
	return nil
}

// hopeless reports whether trying to connect again cannot help: credentials or the
// virtual host are refused.
func hopeless(err error) bool {
	var e *amqp091.Error
	return errors.As(err, &e) && (e.Code == amqp091.AccessRefused || e.Code == amqp091.NotAllowed)
}
