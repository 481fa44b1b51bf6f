package stranded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/outbox"
)

// listed are subscriptions of a test.
type listed struct {
	outbox.Subscriptions
	topics []string
	err    error
	asked  int
}

func (l *listed) List(context.Context, string) (list []outbox.Subscription, err error) {
	l.asked++
	for _, topic := range l.topics {
		list = append(list, outbox.Subscription{Topic: topic, Consumer: "c"})
	}
	return list, l.err
}

func event(topic string, local bool) outbox.Row {
	return outbox.RowOf(headrace.Event{Topic: topic, Payload: []byte("x"), Local: local})
}

// A topic is looked at again, since its subscription may be removed, or the database may not
// have answered; it is logged once.
func TestLook(t *testing.T) {
	var log bytes.Buffer
	logger, now := slog.New(slog.NewTextHandler(&log, nil)), time.Now()
	var l Log
	s := &listed{topics: []string{"t"}}
	look := func(after time.Duration, asked, lines int, rows ...outbox.Row) {
		t.Helper()
		now = now.Add(after)
		l.look(t.Context(), now, logger, s, map[string][]string{"d": {"beside"}}, rows)
		if n := strings.Count(log.String(), "an event waits"); s.asked != asked || n != lines {
			t.Errorf("asked %d times, want %d; %d lines, want %d", s.asked, asked, n, lines)
		}
	}
	look(0, 1, 0, event("t", true), event("beside", true), event("for a sink", false))
	look(time.Second, 1, 0, event("t", true))
	s.topics = nil // removed
	look(time.Second, 1, 0, event("t", true))
	s.err = errors.New("away")
	look(lookEvery, 2, 0, event("t", true))
	s.err = nil
	look(0, 3, 1, event("t", true))
	look(lookEvery, 3, 1, event("t", true))
	for i := range most - 1 { // topics that are taken are forgotten
		s.topics = append(s.topics, fmt.Sprint("t", i))
		look(0, 4+i, 1, event(fmt.Sprint("t", i), true))
	}
	look(lookEvery, 3+most, 2, event("another", true))
}

// box has local events that wait without a subscription.
type box struct {
	outbox.Admin
	waiting []outbox.TopicStatus
	err     error
}

func (b *box) Topics(_ context.Context, name string) ([]outbox.TopicStatus, error) {
	if name != outbox.Unclaimed {
		return nil, errors.New(name)
	}
	return b.waiting, b.err
}

// An event without a subscription is logged once, with the topics that have one. A new event is not
// logged yet, nor one that was already logged when its handler committed.
func TestUnclaimed(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	var l Log
	s := &listed{topics: []string{"orders.paid", "orders.paid"}}
	b := &box{}
	look := func(lines int, fails error) {
		t.Helper()
		if err := l.Unclaimed(t.Context(), logger, s, b); !errors.Is(err, fails) {
			t.Error(err)
		}
		if n := strings.Count(log.String(), "an event waits"); n != lines {
			t.Errorf("%d lines, want %d", n, lines)
		}
	}
	look(0, nil)
	b.waiting = []outbox.TopicStatus{{Topic: "order.paid", Oldest: young - 1}}
	look(0, nil)
	if s.asked != 0 {
		t.Error("it asked for subscriptions without need")
	}
	b.waiting[0].Oldest = young
	b.err = errors.New("away")
	look(0, b.err)
	b.err, s.err = nil, errors.New("away too")
	look(0, s.err)
	s.err = nil
	look(1, nil)
	look(1, nil)
	if text := log.String(); !strings.Contains(text, "topic=order.paid local_topics=[orders.paid]") {
		t.Error(text)
	}
	b.waiting = append(b.waiting, outbox.TopicStatus{Topic: "subscribed meanwhile", Oldest: time.Hour})
	s.topics = append(s.topics, "subscribed meanwhile")
	look(1, nil)
	l.look(t.Context(), time.Now(), logger, s, nil, []outbox.Row{event("typo", true)})
	b.waiting = append(b.waiting, outbox.TopicStatus{Topic: "typo", Oldest: time.Hour})
	look(2, nil)
}

// topics is an outbox with events that wait.
type topics struct {
	outbox.Admin
	list []outbox.TopicStatus
}

func (topics) Name() string { return "default" }

func (t topics) Topics(context.Context, string) ([]outbox.TopicStatus, error) { return t.list, nil }

// Events that nothing publishes are logged once: those of local handlers at once, and others, whose relay may be about to
// start, when they are older.
func TestUnpublished(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	var l Log
	lines := func(want int, list ...outbox.TopicStatus) {
		t.Helper()
		log.Reset()
		if err := l.Unpublished(t.Context(), logger, topics{list: list}, []string{"orders"}); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(log.String(), "no process publishes it"); n != want || want > 0 && !strings.Contains(log.String(), "local_topics=[orders]") {
			t.Errorf("%d lines, want %d: %s", n, want, &log)
		}
	}
	young, old := outbox.TopicStatus{Topic: "ordres", Events: 1, Oldest: relayed - 1}, outbox.TopicStatus{Topic: "ordres", Events: 1, Oldest: relayed}
	handled, published := outbox.TopicStatus{Topic: "orders", Events: 1}, outbox.TopicStatus{Topic: "ordres", Events: 1, Oldest: time.Hour, Published: true}
	lines(1, handled, young)
	lines(1, handled, old)
	lines(0, handled, old)
	lines(0, published)
	lines(2, handled, old)
	many := make([]outbox.TopicStatus, shown+5)
	for i := range many {
		many[i] = outbox.TopicStatus{Topic: fmt.Sprint(i), Oldest: time.Hour}
	}
	lines(shown, many...)
	lines(5, many...)
	lines(0, many...)
}
