package consumer

import (
	"context"
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/mistake"
	"github.com/headrace/headrace/internal/router"
	"github.com/headrace/headrace/store"
)

// Attach makes the handlers of an existing Router safe. Each message is handled in a
// transaction of st, which the handler finds in the message's context (headrace.TxFrom).
// The same transaction records that the message was handled, and holds the messages that
// the handler returned. A message whose handler fails is retried, waits in the backlog or
// becomes a dead letter, as config says. While the Router runs, the consumer also works
// off the backlog, redrives and the outbox.
//
// Call Attach once, after every AddHandler and before Router.Run. It needs config.Name
// and config.Sink; config.Source must be nil, and MaxBatch and BatchTime 0. The Router then subscribes, acknowledges
// and gives back, but publishes nothing: the messages that handlers return go into the
// outbox under the handler's publish topic, and from there to Sink. Sink may be the
// handlers' own Publisher: the Router closes it only after everything has been settled
// and published. If the program goes on publishing after the Router has ended, give Sink
// a Publisher of its own and close it then.
//
// Each attempt has its own copy of the message and its own transaction (see Alone), since
// the handler may call other systems; a retry repeats those calls. The attempt's context
// does not end when the Router is closed, but config.DrainTimeout later; Attach refuses one
// that is not shorter than the Router's CloseTimeout. The context holds the handler's name and topics
// for Watermill's HandlerNameFromCtx, SubscribeTopicFromCtx and PublishTopicFromCtx.
//
// inside are middlewares that run around the handler in each attempt, the first one
// outermost. They see every run, also those from the backlog. The Router's own
// middlewares are outside: they see deliveries only, and no handler's error. They get a
// copy of the message. Settling the copy does not reach the broker before the commit: the
// message is acknowledged when its outcome is committed and the Router acknowledges the
// copy, or when a middleware outside skips it without an error, as a filter does.
//
// Attach returns an error that matches headrace.ErrOrder and names the middleware where
// Watermill's Retry, PoisonQueue, Deduplicator, CircuitBreaker, InstantAck, IgnoreErrors or
// Duplicator is among inside or is itself the function of a handler. They undo what headrace
// promises.
//
// Attach does not inspect other middlewares, but checks their effects at run time. It is
// a mistake if a middleware outside acknowledges a message before its handler has run,
// skips a message that was given back, or hides that it was; or if one inside calls the
// handler again after it succeeded, or does not wait for it. Then the consumer
// acknowledges and handles no more messages and sends an alert, and Ready and Alive
// return an error that matches headrace.ErrOrder. If a middleware inside hides a failure
// of the handler after it has used its transaction, or skips a message whose handler had
// run before, the attempt fails. docs/guarantees.md lists the mistakes that are not
// found.
func Attach(r *message.Router, st store.Store, config Config, inside ...message.HandlerMiddleware) (*Consumer, error) {
	if err := checkAttach(r, st, config); err != nil {
		return nil, fmt.Errorf("attach: %w", err)
	}
	c, err := open(st, config)
	if err == nil {
		c.started.Store(true)
		c.router, err = router.Attach(r, c.rt, c.handler, inside)
	}
	if err == nil {
		err = c.rt.RefusesRetention()
	}
	if err != nil {
		return nil, fmt.Errorf("attach %s: %w", config.Name, err)
	}
	return c, nil
}

// Wait blocks until a consumer of Attach has ended, which it does with its Router, or
// until ctx ends. It returns nil after a clean end. Otherwise it returns the error that
// Router.Run hides by returning nil: one that only a person can fix, or the handlers that
// still ran after the drain time (ErrDrainTimeout). Before the Router has subscribed, and
// for a consumer of New, it returns ErrNotRunning at once.
func (c *Consumer) Wait(ctx context.Context) error {
	if c.router == nil {
		return fmt.Errorf("consumer %s: %w", c.Name(), ErrNotRunning)
	}
	return errors.Join(c.router.Wait(ctx), c.tooLate())
}

func checkAttach(r *message.Router, st store.Store, config Config) error {
	switch err := encode.ConsumerName(config.Name); {
	case config.Name == "":
		return errors.New("option Config.Name is empty: name this service; its keys are kept apart from others' by it, so it must not change")
	case err != nil:
		return fmt.Errorf("option Config.Name: %w", err)
	case r == nil:
		return fmt.Errorf("%s: the Router is nil", config.Name)
	case st == nil || mistake.Nil(st) != nil:
		return fmt.Errorf("%s: the store is nil", config.Name)
	case r.IsRunning() || r.IsClosed():
		return fmt.Errorf("%s: the Router runs already, or was closed: attach before Router.Run", config.Name)
	case len(r.Handlers()) == 0:
		return fmt.Errorf("%s: the Router has no handlers: attach after AddHandler and AddConsumerHandler", config.Name)
	}
	if err := config.set().Attached(); err != nil {
		return fmt.Errorf("%s: %w", config.Name, err)
	}
	return nil
}
