package consumer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
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

// record is a line of a log in JSON about a message.
type record struct {
	Level, Msg, Next, Handler, Key, Class, Error string
	Attempt, Letter                              int
	NotLogged                                    int `json:"not_logged"`
	At                                           string
	Trace                                        string `json:"trace_id"`
}

// records returns the lines with this text.
func (l *lines) records(text string) (list []record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range bytes.Lines(l.b.Bytes()) {
		var r record
		if json.Unmarshal(line, &r) == nil && r.Msg == text {
			list = append(list, r)
		}
	}
	return list
}

// failures returns the attempt and what came next of each failed message.
func (l *lines) failures() (list []string) {
	for _, r := range l.records("message failed") {
		list = append(list, fmt.Sprint(r.Attempt, " ", r.Next))
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

// Messages that fail at once for one reason have a line, and those after the first one line at the stop.
func TestTheLogHasTheRestAtAStop(t *testing.T) {
	b := setupSQLite(t)
	log := &lines{}
	config := b.config()
	config.Logger, config.Retry = slog.New(slog.NewJSONHandler(log, nil)), retry.Policy{MaxAttempts: 1}
	c := b.consumer(config)
	consumer.Handle(c, topic, func(context.Context, *headrace.Tx, *headrace.Message[body]) error { return errBoom })
	b.start(c)
	for _, id := range []string{"one", "two", "three", "four"} {
		b.acked(b.deliver(id, `{}`))
	}
	if err := b.halt(); err != nil {
		b.Error(err)
	}
	rest := log.records("messages failed")
	if len(log.failures()) != 1 || len(rest) != 1 || rest[0].NotLogged != 3 || rest[0].Letter != 4 || rest[0].Error != "boom" || rest[0].Next != "dead" {
		t.Errorf("%v, then %+v", log.failures(), rest)
	}
}

// The log names the time limit that a handler has exceeded.
func TestTheLogNamesTheTimeout(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		log := &lines{}
		config := b.config()
		config.Logger, config.Retry = slog.New(slog.NewJSONHandler(log, nil)), retry.Policy{MaxAttempts: 1}
		c := b.consumer(config)
		consumer.Handle(c, topic, func(ctx context.Context, _ *headrace.Tx, _ *headrace.Message[body]) error {
			<-ctx.Done()
			return ctx.Err()
		}, consumer.Timeout(100*time.Millisecond))
		consumer.HandleLeased(c, "leased", func(ctx context.Context, _ *headrace.Message[body]) (headrace.Effects, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, consumer.Timeout(200*time.Millisecond))
		b.start(c)
		b.acked(b.deliver("one", `{}`))
		b.acked(b.src.Deliver("leased", "two", []byte(`{}`), nil))
		b.eventually("both are logged", func() bool { return len(log.failures()) == 2 })
		got := make(map[string]string)
		for _, r := range log.records("message failed") {
			if got[r.Handler] = r.Error; r.Class != "timeout" {
				b.Errorf("%+v", r)
			}
		}
		if got[topic] != "the handler's time of 100ms (consumer.Timeout, Config.HandlerTimeout) is over: context deadline exceeded" ||
			got["leased"] != "the handler's time of 200ms (consumer.Timeout) is over: context deadline exceeded" {
			b.Errorf("%q", got)
		}
	})
}

// The line of a panic says where it began, without a path of the build's machine.
func TestTheLogHasThePlaceOfAPanic(t *testing.T) {
	b := setupSQLite(t)
	log := &lines{}
	config := b.config()
	config.Logger, config.Retry = slog.New(slog.NewJSONHandler(log, nil)), retry.Policy{MaxAttempts: 1}
	c := b.consumer(config)
	consumer.Handle(c, topic, func(context.Context, *headrace.Tx, *headrace.Message[body]) error {
		panic("no orders")
	})
	b.start(c)
	b.acked(b.deliver("one", `{}`))
	want := regexp.MustCompile(`^github\.com/headrace/headrace/consumer_test\.TestTheLogHasThePlaceOfAPanic\.func1 \(report_test\.go:\d+\)$`)
	if got := log.records("message failed"); len(got) != 1 || !want.MatchString(got[0].At) {
		t.Errorf("%+v", got)
	}
}

const traceID = "0af7651916cd43dd8448eb211c80319c"

// refused returns handler, key and class of each message that was refused, sorted.
func (l *lines) refused(b *bundle) (list []string) {
	for _, r := range l.records("message refused") {
		if r.Level != "WARN" || r.Error == "" || r.Letter == 0 || r.Trace != traceID {
			b.Errorf("%+v", r)
		}
		key, _, _ := strings.Cut(r.Key, ":")
		list = append(list, fmt.Sprint(r.Handler, " ", key, " ", r.Class))
	}
	slices.Sort(list)
	return list
}

// A dead letter of a message that no handler was called for is logged too, with its handler,
// key, class, error, letter and trace, however it came: live, through the backlog, as a local
// event, or by a redrive that opened the letter again.
func TestTheLogHasLettersWithoutARun(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		parent := "00-" + traceID + "-b7ad6b7169203331-01"
		log := &lines{}
		config := b.config()
		config.Logger = slog.New(slog.NewJSONHandler(log, nil))
		run := func() {
			c := b.consumer(config)
			consumer.Handle(c, topic, insert)
			consumer.Handle(c, "taken", insert, consumer.Intake())
			consumer.Handle(c, "local", insert, consumer.Local())
			consumer.Handle(c, "keyless", insert, consumer.Intake(), consumer.Key(inbox.Header("Key")))
			b.start(c)
			b.eventually("it is ready", func() bool { return c.Ready() == nil })
		}
		run()
		deliver := func(topic, id, payload string) {
			b.acked(b.src.Deliver(topic, id, []byte(payload), map[string]string{"traceparent": parent}))
		}
		for _, topic := range []string{topic, "taken"} {
			deliver(topic, topic, `{"n":1}`)
			deliver(topic, topic, `{"n":2}`)
			deliver(topic, "bad", "no JSON")
		}
		deliver("keyless", "", `{}`)
		for _, e := range []headrace.Event{{ID: "local", Payload: []byte(`{"n":1}`)}, {ID: "local", Payload: []byte(`{"n":2}`)}, {ID: "bad", Payload: []byte("no JSON")}} {
			e.Topic, e.Local, e.Trace = "local", true, headrace.TraceContext{Parent: parent}
			b.publish(e)
		}
		b.eventually("all letters are there", func() bool { return b.count("SELECT count(*) FROM headrace_dead_letters") == 7 })
		want := []string{
			"keyless stand-in undecodable", "local bad undecodable", "local local conflict", "taken bad undecodable", "taken taken conflict",
			topic + " bad undecodable", topic + " " + topic + " conflict",
		}
		slices.Sort(want)
		b.eventually("all are logged", func() bool { return len(log.refused(b)) >= len(want) })
		if got := log.refused(b); !slices.Equal(got, want) {
			b.Errorf("%q, want %q", got, want)
		}
		if err := b.halt(); err != nil {
			b.Fatal(err)
		}
		if r, err := redrive.New(b.st).Redrive(b.Context(), redrive.Request{Filter: dlq.Filter{Handler: "keyless"}, By: "ana"}); err != nil || r.Done != 1 {
			b.Fatalf("%+v, %v", r, err)
		}
		run() // the log of the first one has had its reason
		want = slices.Insert(want, slices.Index(want, "keyless stand-in undecodable"), "keyless stand-in undecodable")
		b.eventually("the one that was opened again is logged", func() bool { return slices.Equal(log.refused(b), want) })
	})
}
