package amqp

import (
	"errors"
	"fmt"
	"strings"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

var (
	// ErrClosed is the error of a closed Source or Sink.
	ErrClosed = errors.New("amqp: closed")
	// ErrReturned matches the error of a message that no queue takes: the topic's queue
	// does not exist, or no queue is bound to the exchange.
	ErrReturned = errors.New("no queue takes it (returned)")
	// ErrNotConfirmed matches the error of a message that the broker refused, or that it
	// may or may not have, because the connection or the channel ended first.
	ErrNotConfirmed = errors.New("not confirmed")
	// ErrBlocked matches the error of Publish while the broker accepts no messages,
	// because it is short of memory or disk.
	ErrBlocked = errors.New("the broker takes no messages: it is short of memory or disk")
)

// PublishError is the error of Publish if the result of each message is known. It matches
// the errors of its failures.
type PublishError struct {
	// Messages is how many were to be published.
	Messages int
	// Failures are the messages that the broker does not have, or may not have, in their
	// order. It has all the others.
	Failures []Failure
}

// Failure is a message that was not published.
type Failure struct {
	// Index is its place among the messages of the call, from 0.
	Index int
	// Err says why.
	Err error
}

// Error implements error. It contains no ids and nothing of a payload.
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

// hopeless reports whether connecting again cannot help: the broker refuses the
// credentials or the virtual host.
func hopeless(err error) bool {
	var e *amqp091.Error
	return errors.As(err, &e) && (e.Code == amqp091.AccessRefused || e.Code == amqp091.NotAllowed)
}
