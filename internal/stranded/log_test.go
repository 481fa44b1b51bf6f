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
