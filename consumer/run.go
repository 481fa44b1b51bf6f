package consumer

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/headrace/headrace/internal/mistake"
)

// Run runs consumers side by side: it calls Run of each. When one of them ends, or ctx
// does, it stops all of them, and returns when every one has returned. The error joins
// theirs; it is nil after ctx has ended and all stopped well.
//
// Local handlers of consumers on one store are subscribed together, so that an event of
// the time at which the program first starts is for all of them.
//
// If a consumer is nil, or has a mistake of registration (see Consumer.Err), or two have one
// name and one store, or there is none, it returns an error and none of them starts.
func Run(ctx context.Context, consumers ...*Consumer) error {
	if len(consumers) == 0 {
		return errors.New("consumer.Run was given no consumer")
	}
	errs, all := make([]error, len(consumers)), make([]mistake.Consumer, len(consumers))
	for i, c := range consumers {
		if c == nil {
			return fmt.Errorf("consumer.Run: consumer %d of %d is nil", i+1, len(consumers))
		}
		errs[i], all[i] = c.Err(), mistake.Consumer{Name: c.Name(), Runtime: c.rt}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := mistake.Consumers(all); err != nil {
		return fmt.Errorf("consumer.Run: %w", err)
	}
	subscribeTogether(consumers)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var running sync.WaitGroup
	for i, c := range consumers {
		running.Go(func() {
			defer stop()
			errs[i] = c.Run(ctx)
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// subscribeTogether gives each consumer the topics that the others on its store have local
// handlers for.
func subscribeTogether(consumers []*Consumer) {
	for _, c := range consumers {
		if c.started.Load() {
			continue // Run returns that
		}
		c.rt.Beside = make(map[string][]string)
		for _, other := range consumers {
			if other == c || !mistake.Same(other.rt.Store, c.rt.Store) {
				continue
			}
			for _, h := range other.rt.Local() {
				c.rt.Beside[other.Name()] = append(c.rt.Beside[other.Name()], h.Topic)
			}
		}
	}
}
