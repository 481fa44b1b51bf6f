package interop

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/store/sqlite"
)

// runTimeout bounds a run.
const runTimeout = 2 * time.Minute

// sent is how many messages a run sends, each twice.
const sent = 20

var quiet = watermill.NopLogger{}

// adapter is one way to a broker. A group names the readers that share a topic.
type adapter struct {
	publisher  func(t *testing.T) message.Publisher
	subscriber func(t *testing.T, group string) message.Subscriber
}

// broker has the official adapter of a server, and ours.
type broker struct {
	official, ours adapter
	// prepare makes a topic where the official subscriber does not.
	prepare func(t *testing.T, topic string)
	// once sends each message once, because the official subscriber panics (NATS), or never
	// ends (SQS), if a message comes that is not read any more.
	once bool
}

// address is that of a server. Without one the test is left out, or fails with CI=true.
func address(t *testing.T, server string) string {
	t.Helper()
	variable := "HEADRACE_TEST_" + strings.ToUpper(server)
	at := os.Getenv(variable)
	switch {
	case at != "":
	case os.Getenv("CI") == "true":
		t.Fatalf("%s is not set: run make interop", variable)
	default:
		t.Skipf("%s is not set: run make interop", variable)
	}
	return at
}

// must returns v, and fails the test where there is an error.
func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// run runs each combination of source and sink.
func (b broker) run(t *testing.T) {
	both := map[string]adapter{"official": b.official, "ours": b.ours}
	for source, in := range both {
		for sink, out := range both {
			if in.subscriber == nil || out.publisher == nil {
				continue
			}
			t.Run(source+" source, "+sink+" sink", func(t *testing.T) {
				name := strings.ToLower(watermill.NewShortUUID())
				s := story{T: t, b: b, in: "in-" + name, out: "out-" + name}
				s.run(in, out)
			})
		}
	}
}

// story is one run.
type story struct {
	*testing.T
	b       broker
	in, out string
}

type number struct {
	N int `json:"n"`
}

func (s story) run(in, out adapter) {
	ctx, cancel := context.WithTimeout(s.Context(), runTimeout)
	defer cancel()
	s.topic(s.in, "billing")
	s.topic(s.out, "reader")
	events := must[<-chan *message.Message](s.T)(s.closing(s.b.official.subscriber(s.T, "reader")).Subscribe(ctx, s.out))
	sender := s.b.official.publisher(s.T)
	s.close(sender)
	times := 2
	if s.b.once {
		times = 1
	}
	for range times {
		for n := range sent {
			m := message.NewMessage(fmt.Sprintf("message-%02d", n), fmt.Appendf(nil, `{"n":%d}`, n))
			m.Metadata.Set("shop", "north")
			if err := sender.Publish(s.in, m); err != nil {
				s.Fatal(err)
			}
		}
	}
	st := must[*sqlite.Store](s.T)(sqlite.Open(ctx, filepath.Join(s.TempDir(), "interop.db"), sqlite.Options{Migrate: true}))
	s.close(st)
	if _, err := st.DB().ExecContext(ctx, "CREATE TABLE effects (n INTEGER, shop TEXT)"); err != nil {
		s.Fatal(err)
	}
	source, sink := in.subscriber(s.T, "billing"), out.publisher(s.T)
	s.close(source)
	s.close(sink)
	ctx, stop := s.consume(ctx, st, source, sink)
	s.read(ctx, events)
	stop()
	ctx = s.Context()
	s.check(ctx, st)
}

// consume runs a consumer until the function that it returns is called. The context ends
// when the consumer does.
func (s story) consume(ctx context.Context, st *sqlite.Store, source message.Subscriber, sink message.Publisher) (context.Context, func()) {
	c := must[*consumer.Consumer](s.T)(consumer.New("billing", st, consumer.Config{Source: source, Sink: sink}))
	consumer.Handle(c, s.in, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[number]) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO effects VALUES ($1, $2)", m.Body.N, m.Metadata["shop"]); err != nil {
			return err
		}
		return tx.Publish(headrace.Event{
			Topic: s.out, ID: fmt.Sprint("event-", m.Body.N), Value: m.Body, Metadata: map[string]string{"of": m.ID},
		})
	})
	running, stop := context.WithCancel(ctx)
	living, ended := context.WithCancelCause(ctx)
	go func() { ended(cmp.Or(c.Run(running), errStopped)) }()
	return living, func() {
		stop()
		<-living.Done()
		if err := context.Cause(living); err != errStopped {
			s.Errorf("the consumer: %v", err)
		}
	}
}

var errStopped = errors.New("stopped")

// read reads events until all are there.
func (s story) read(ctx context.Context, events <-chan *message.Message) {
	seen := make(map[string]bool)
	for len(seen) < sent {
		select {
		case m := <-events:
			if m == nil {
				s.Fatal("the official subscription ended")
			}
			m.Ack()
			var body number
			if err := json.Unmarshal(m.Payload, &body); err != nil {
				s.Errorf("event %s: %v", m.UUID, err)
			}
			if want := fmt.Sprint("event-", body.N); m.UUID != want {
				s.Errorf("an event with the id %q, want %q", m.UUID, want)
			}
			if got, want := m.Metadata.Get("of"), fmt.Sprintf("message-%02d", body.N); got != want {
				s.Errorf("metadata of event %s: %q, want %q", m.UUID, got, want)
			}
			seen[m.UUID] = true
		case <-ctx.Done():
			s.Fatalf("%d of %d events came: %v", len(seen), sent, context.Cause(ctx))
		}
	}
}

// check compares the effects with what was sent.
func (s story) check(ctx context.Context, st *sqlite.Store) {
	var effects, different, shops int
	row := st.DB().QueryRowContext(ctx, "SELECT count(*), count(DISTINCT n), count(*) FILTER (WHERE shop = 'north') FROM effects")
	if err := row.Scan(&effects, &different, &shops); err != nil {
		s.Fatal(err)
	}
	if effects != sent || different != sent || shops != sent {
		s.Errorf("%d effects of %d messages, %d with their metadata; want %d", effects, different, shops, sent)
	}
	if letters := must[[]dlq.Letter](s.T)(st.Letters().List(ctx, dlq.Filter{}, 0, 10)); len(letters) > 0 {
		s.Errorf("%d dead letters: %s", len(letters), letters[0].Error)
	}
}

// topic makes a topic as the official adapter does.
func (s story) topic(topic, group string) {
	if s.b.prepare != nil {
		s.b.prepare(s.T, topic)
		return
	}
	sub := s.b.official.subscriber(s.T, group)
	s.close(sub)
	if i, ok := sub.(message.SubscribeInitializer); ok {
		if err := i.SubscribeInitialize(topic); err != nil {
			s.Fatal(err)
		}
	}
}

func (s story) closing(sub message.Subscriber) message.Subscriber {
	s.close(sub)
	return sub
}

func (s story) close(c io.Closer) {
	s.Cleanup(func() {
		if err := c.Close(); err != nil && !errors.Is(err, context.Canceled) {
			s.Logf("close: %v", err)
		}
	})
}
