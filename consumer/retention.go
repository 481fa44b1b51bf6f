package consumer

import (
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/prune"
)

// retainer is a Source that declares for how long it can deliver a message again, 0 where
// it does not know.
type retainer interface{ Retention() time.Duration }

// topicRetainer is a Source that declares it for each topic.
type topicRetainer interface {
	TopicRetention(topic string) time.Duration
}

// retention returns what may be pruned and whether anything may. The error names the
// option: under it a message could come back after its record is gone.
func (c *Consumer) retention() (plan inbox.Plan, on bool, err error) {
	r := c.config.Retention
	if r.Off {
		return inbox.Plan{}, false, nil
	}
	if r.SourceRetention == 0 {
		r.SourceRetention = c.declared()
	}
	retries := time.Duration(0)
	for _, h := range c.handlers {
		retries = max(retries, h.Policy.Span(h.Timeout+grace))
	}
	plan, err = r.Plan(retries)
	switch {
	case err == nil:
		return plan, true, nil
	case errors.Is(err, inbox.ErrSourceRetention) && r == (inbox.Retention{}):
		return inbox.Plan{}, false, nil // nobody asked for it
	case errors.Is(err, inbox.ErrSourceRetention):
		return inbox.Plan{}, false, fmt.Errorf("option Config.Retention: %w: give SourceRetention, the longest time for which the source can deliver a message again", err)
	}
	return inbox.Plan{}, false, fmt.Errorf("option Config.Retention: %w", err)
}

// localRetention stands for the sources of a consumer that has none: what is routed to
// it comes by one commit, once. An hour is more than any repetition of ours takes.
const localRetention = time.Hour

// declared is the longest time for which one of the sources can deliver a message
// again; 0 where one of them does not say.
func (c *Consumer) declared() (longest time.Duration) {
	if c.router != nil {
		return 0 // its sources are the Router's
	}
	longest = localRetention
	for _, h := range c.handlers {
		if h.source == nil {
			continue
		}
		declared := h.declared()
		if declared <= 0 {
			return 0
		}
		longest = max(longest, declared)
	}
	return longest
}

// declared is what the source of h declares.
func (h *handler) declared() time.Duration {
	switch source := h.source.(type) {
	case topicRetainer:
		return source.TopicRetention(h.Topic)
	case retainer:
		return source.Retention()
	}
	return 0
}

// startPruning removes what is old, where that is known, until the run stops.
func (r *run) startPruning() {
	log := r.c.config.Logger.With("consumer", r.c.name)
	plan, on, err := r.c.retention()
	switch {
	case err != nil: // refused before the run began
		return
	case !on && r.c.config.Retention.Off:
		return
	case !on:
		log.Info("nothing is pruned, since nobody says for how long the source can deliver a message again: " +
			"set Config.Retention.SourceRetention, or run headrace prune")
		return
	}
	log.Info("old messages are pruned", "window", plan.Window, "dead_letters", plan.DeadLetters, "open_letters", plan.OpenLetters)
	keeper := &prune.Keeper{
		Pruner: r.c.st.Operations().Pruner, Consumer: r.c.name, Plan: plan,
		Done: func(done inbox.Pruned) {
			if done.Messages+done.Letters > 0 {
				log.Info("pruned", "messages", done.Messages, "letters", done.Letters)
			}
		},
		Failed: func(err error) { log.Warn("pruning failed; it is tried again", "error", encode.Said(err)) },
	}
	r.workers.Go(func() { keeper.Run(r.soft) })
}
