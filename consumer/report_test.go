package consumer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/retry"
)

// lines is a log that may be read while it is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// failures returns the attempt and what came next of each failed message.
func (l *lines) failures() (list []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range bytes.Lines(l.b.Bytes()) {
		var record struct {
			Msg, Next string
			Attempt   int
		}
		if json.Unmarshal(line, &record) == nil && record.Msg == "message failed" {
			list = append(list, fmt.Sprint(record.Attempt, " ", record.Next))
		}
	}
	return list
}

// The log counts attempts as the table does. The second one follows at once, for the same
// reason, and has no line of its own; the end has one.
func TestTheLogCountsAttempts(t *testing.T) {
	b := setupSQLite(t)
	log := &lines{}
	config := b.config()
	config.Logger = slog.New(slog.NewJSONHandler(log, nil))
	config.Retry = retry.Policy{MaxAttempts: 3, Immediate: 1, Backoff: retry.Backoff{Initial: time.Millisecond, Max: time.Millisecond, Factor: 1}}
	c := b.consumer(config)
	consumer.Handle(c, topic, func(context.Context, *headrace.Tx, *headrace.Message[body]) error { return errBoom })
	b.start(c)
	b.acked(b.deliver("one", `{}`))
	b.eventually("it is given up", func() bool { return len(log.failures()) == 2 })
	if got, want := fmt.Sprint(log.failures()), "[1 waiting 3 dead]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
