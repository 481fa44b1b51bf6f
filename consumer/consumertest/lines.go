package consumertest

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/outbox"
)

// Publish writes events in a transaction of the test's, as a program does with
// outbox.Publish. It waits until a process has subscribed to the topics of its local handlers,
// so that they get the events, but not until they have handled them: see Settle. Publish ends
// the test if no handler and no Sink takes an event.
func (k *Kit) Publish(events ...headrace.Event) {
	k.t.Helper()
	k.await("Publish", func(*process) bool {
		left, _ := k.subscribing()
		return len(left) == 0
	})
	k.checkTaken(events)
	err := k.within(false, func(ctx context.Context, tx *sql.Tx) error {
		return outbox.New(k.place.kit.Outbox()).Publish(ctx, tx, events...)
	})
	if err != nil {
		k.t.Fatalf("Publish: %v", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.slots {
		p.st.Outbox().Signal().Wake()
	}
}

// checkTaken ends the test if an event would wait for ever.
func (k *Kit) checkTaken(events []headrace.Event) {
	k.t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	var topics []string
	sink := false
	for _, c := range k.consumers {
		sink = sink || c.Runtime().Sink != nil
		for _, h := range c.Runtime().Local() {
			topics = append(topics, h.Topic)
		}
	}
	for _, e := range events {
		if !slices.Contains(topics, e.Topic) && (e.Local || !sink) {
			k.t.Fatalf("Publish: no local handler takes the topic %q, and no Sink publishes the event: there are local handlers (consumer.Local) for %q", e.Topic, topics)
		}
	}
}

// notedSubscriptions notes which consumers of a process have subscribed.
type notedSubscriptions struct {
	outbox.Subscriptions
	p *process
}

func (s notedSubscriptions) Subscribe(ctx context.Context, topics map[string][]string) error {
	err := s.Subscriptions.Subscribe(ctx, topics)
	if err == nil {
		s.p.k.mu.Lock()
		for consumer := range topics {
			s.p.lines[consumer] = true
		}
		s.p.k.mu.Unlock()
		s.p.k.pulse.beat()
	}
	return err
}

// subscribing lists the consumers of the running processes that have not subscribed yet.
// running are the names of the lines of all.
func (k *Kit) subscribing() (left []string, running map[string]bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	running = make(map[string]bool)
	for _, p := range k.slots {
		for consumer, subscribed := range p.lines {
			if running[outbox.LineOf(consumer)] = true; !subscribed {
				left = append(left, fmt.Sprintf("consumer %s of process %d has not subscribed to the topics of its local handlers yet", consumer, p.n))
			}
		}
	}
	return left, running
}

// leftOnLines lists the events that wait for consumers of the running processes. It tells
// of others once: nothing here takes them.
func (k *Kit) leftOnLines(ctx context.Context) ([]string, error) {
	left, running := k.subscribing()
	if len(left) > 0 {
		return left, nil
	}
	if len(running) > 0 { // what was written before a consumer subscribed
		if _, err := k.place.kit.Operations().Subscriptions.Sweep(ctx); err != nil {
			return nil, err
		}
	}
	list, err := k.place.kit.Outbox().List(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("look at the outbox: %w", err)
	}
	for _, s := range list {
		n := s.Ready + s.Delayed + s.Behind
		if _, line := outbox.ConsumerOf(s.Outbox); !line || n == 0 {
			continue
		}
		if running[s.Outbox] {
			left = append(left, fmt.Sprintf("outbox %s: %d events wait", s.Outbox, n))
		} else if !k.toldLines[s.Outbox] {
			k.toldLines[s.Outbox] = true
			k.t.Logf("outbox %s: %d events wait, and no consumer of this test takes them", s.Outbox, n)
		}
	}
	return left, nil
}
