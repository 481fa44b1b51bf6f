package runtime

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/prune"
	"github.com/headrace/headrace/internal/sleep"
)

// retainer is a Source that declares for how long it can deliver a message again, 0 if
// unknown; topicRetainer declares it for each topic.
type (
	retainer      interface{ Retention() time.Duration }
	topicRetainer interface {
		TopicRetention(topic string) time.Duration
	}
)

// RefusesRetention returns the error of Prunes, if that is known without asking a broker.
func (rt *Runtime) RefusesRetention() error {
	if rt.asks() {
		return nil
	}
	_, _, err := rt.Prunes()
	return err
}

// asks reports whether Prunes asks a broker, which may be away at the start.
func (rt *Runtime) asks() bool {
	if rt.Retention.Off || rt.Retention.SourceRetention > 0 {
		return false
	}
	return slices.ContainsFunc(rt.handlers, func(h *Handler) bool {
		return slices.ContainsFunc(h.inlets(), func(in inlet) bool {
			_, asks := in.source.(topicRetainer)
			return asks
		})
	})
}

// Prunes returns what may be pruned, and whether anything may. An error names the option
// with which a message could come back after its record is gone. It may wait for brokers.
func (rt *Runtime) Prunes() (plan inbox.Plan, on bool, err error) {
	r := rt.Retention
	if r.Off {
		return inbox.Plan{}, false, nil
	}
	if r.SourceRetention == 0 {
		r.SourceRetention = rt.declared()
	}
	retries := time.Duration(0)
	for _, h := range rt.handlers {
		retries = max(retries, h.Policy.Span(h.Timeout+Grace))
	}
	plan, err = r.Plan(retries)
	switch {
	case err == nil:
		return plan, true, nil
	case errors.Is(err, inbox.ErrSourceRetention) && r == (inbox.Retention{}):
		return inbox.Plan{}, false, nil // the user did not ask for pruning
	case errors.Is(err, inbox.ErrSourceRetention):
		err = fmt.Errorf("%w: give SourceRetention, the longest time for which the source can deliver a message again", err)
	}
	return inbox.Plan{}, false, fmt.Errorf("option Config.Retention: %w", err)
}

// declared is the longest time for which one of the sources can deliver a message again;
// 0 if one of them does not declare it, as those of a Router, or if a handler is local: a
// program may write an event again at any time. A message of a dead-letter queue has been in
// the handler's own before.
func (rt *Runtime) declared() time.Duration {
	longest := time.Duration(0)
	for _, h := range rt.handlers {
		if h.Source == nil {
			return 0
		}
		total := time.Duration(0)
		for _, in := range h.inlets() {
			declared := in.declared()
			if declared <= 0 {
				return 0
			}
			total += declared
		}
		longest = max(longest, total)
	}
	return longest
}

// declared is for how long the source can deliver a message again; 0 if it does not say.
func (in *inlet) declared() time.Duration {
	switch source := in.source.(type) {
	case topicRetainer:
		return source.TopicRetention(in.topic)
	case retainer:
		return source.Retention()
	}
	return 0
}

// startPruning removes old rows, if their age limit is known, until the run stops. Brokers
// are asked for it once, when they serve all subscriptions.
func (r *Run) startPruning() {
	if r.rt.Retention.Off {
		return
	}
	r.workers.Go(func() {
		for r.rt.asks() && !r.rt.Subscriptions.Begun() {
			if !sleep.For(r.Stopping, r.rt.pace.Look) {
				return
			}
		}
		r.prune()
	})
}

func (r *Run) prune() {
	log := r.rt.Logger
	plan, on, err := r.rt.Prunes()
	if err != nil {
		r.fail(err)
		return
	}
	if !on {
		log.Info("nothing is pruned, since it is not known for how long a source can deliver a message again, or a program an event: " +
			"set Config.Retention.SourceRetention, or prune by hand with the command headrace prune")
		return
	}
	open := "never"
	if plan.OpenLetters > 0 {
		open = encode.Span(plan.OpenLetters)
	}
	log.Info("old messages are pruned", "window", encode.Minutes(plan.Window), "dead_letters", encode.Span(plan.DeadLetters), "open_letters", open)
	keeper := &prune.Keeper{Pruner: r.rt.Store.Operations().Pruner, Consumer: r.rt.Name, Plan: plan, Logger: log, Looked: func() { r.upkeep.Ran("prune") }}
	keeper.Run(r.Stopping)
}
