package main

import (
	"context"
	"fmt"
	"time"

	"github.com/headrace/headrace/consumer"
)

// moreTopic is the topic of a second handler.
const moreTopic = "orders_changed"

// slow is how long a handler takes that is not bound by the database.
const slow = 20 * time.Millisecond

// backlogPart measures handlers whose messages pass through the backlog beside handlers
// that have them live. The clock stops when all are applied.
func backlogPart(d driver) []benchmark {
	const says = "headrace: as single, until all are applied, "
	live := work{driver: d, inFlight: 256, window: 10_000}
	intake, two := live, live
	intake.options = []consumer.Option{consumer.Intake()}
	two.options, two.topics = intake.options, []string{ordersTopic, moreTopic}
	slowLive := work{driver: d, inFlight: 64, window: 256, wait: slow}
	slowIntake := slowLive
	slowIntake.options = intake.options
	part := []benchmark{
		{name: "live", says: says + fmt.Sprintf("%d in flight", live.inFlight), run: live.run},
		{name: "backlog", says: says + "through the backlog (Intake); p50 and p99 of the taking in", run: intake.run, against: []string{"live"}},
		{
			name: "backlog_two", says: says + "through the backlog, for two handlers in turn; p50 and p99 of the taking in",
			run: two.run, against: []string{"backlog"},
		},
		{name: "live_20ms", says: says + fmt.Sprintf("a handler takes %s, %d in flight", slow, slowLive.inFlight), run: slowLive.run},
		{
			name: "backlog_20ms", says: says + fmt.Sprintf("a handler takes %s, through the backlog; p50 and p99 of the taking in", slow),
			run: slowIntake.run, against: []string{"live_20ms"},
		},
	}
	for i := range part {
		part[i].part, part[i].with = "backlog", part[i].against
	}
	return d.named(part)
}

// work is a handler with one statement and one event, for messages that may be
// acknowledged before they are applied.
type work struct {
	driver   driver
	inFlight int
	// window bounds the messages that are acknowledged and not applied: the figure is of
	// a backlog that is filled while it is worked off, and does not grow with the time.
	window  int
	topics  []string      // each with a handler, in turn; none for ordersTopic
	wait    time.Duration // how long a handler takes before its statement
	options []consumer.Option
	// configure changes the consumer's configuration; nil leaves it.
	configure func(*consumer.Config)
}

func (w work) run(ctx context.Context, l *lab, a amount) (Figure, error) {
	return l.applied(ctx, a, application{
		inFlight: w.inFlight, window: w.window, topics: w.topics, untilApplied: true,
		open: l.storeWith(w.driver), configure: w.configure,
		register: func(c *consumer.Consumer) {
			topics := w.topics
			if len(topics) == 0 {
				topics = []string{ordersTopic}
			}
			for _, topic := range topics {
				consumer.Handle(c, topic, invoicing(l.query("invoice"), w.wait), w.options...)
			}
		},
	})
}
