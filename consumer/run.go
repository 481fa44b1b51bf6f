package consumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/headrace/headrace/internal/task"
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
	errs := make([]error, len(consumers))
	for i, c := range consumers {
		if c == nil {
			return fmt.Errorf("consumer.Run: consumer %d of %d is nil", i+1, len(consumers))
		}
		errs[i] = c.Err()
	}
	if err := errors.Join(append(errs, namesakes(consumers))...); err != nil {
		return err
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

// namesakes returns an error if two consumers have one name and one store: what belongs to the
// handlers of one would wait at the other.
func namesakes(consumers []*Consumer) error {
	for j, c := range consumers {
		i := slices.IndexFunc(consumers[:j], func(other *Consumer) bool { return other.Name() == c.Name() && same(other.rt.Store, c.rt.Store) })
		switch {
		case i < 0:
		case consumers[i] == c:
			return fmt.Errorf("consumer.Run: consumers %d and %d of %d are the same consumer, %q", i+1, j+1, len(consumers), c.Name())
		default:
			return fmt.Errorf("consumer.Run: consumers %d and %d of %d have one name, %q, and one store: one has the handlers %s, the other %s, and what belongs to one would wait "+
				"at the other; register the handlers of both with one consumer, or give them two names", i+1, j+1, len(consumers), c.Name(), task.Labels(consumers[i].rt.Handlers()), task.Labels(c.rt.Handlers()))
		}
	}
	return nil
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
			if other == c || !same(other.rt.Store, c.rt.Store) {
				continue
			}
			for _, h := range other.rt.Local() {
				c.rt.Beside[other.Name()] = append(c.rt.Beside[other.Name()], h.Topic)
			}
		}
	}
}
