package consumer_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
)

// pair returns two consumers of one store, the second with its own source.
func pair(b *bundle) (first, second *consumer.Consumer) {
	b.Helper()
	first = b.consumer(b.config())
	config := b.config()
	config.Source = memsource.New()
	second, err := consumer.New("mailing", b.st, config)
	if err != nil {
		b.Fatal(err)
	}
	return first, second
}

func handled(c *consumer.Consumer) {
	consumer.Handle(c, topic, func(context.Context, *headrace.Tx, *headrace.Message[body]) error { return nil })
}

// Consumers have one life: they are probed together and stop together.
func TestRunOfTwoConsumers(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		first, second := pair(b)
		handled(first)
		handled(second)
		probes := consumer.Probes(first, second)
		ask := func(path string) (int, string) {
			w := httptest.NewRecorder()
			probes.ServeHTTP(w, httptest.NewRequestWithContext(b.Context(), http.MethodGet, path, nil))
			return w.Code, w.Body.String()
		}
		for _, path := range []string{"/readyz", "/livez"} {
			code, text := ask(path)
			if code != http.StatusServiceUnavailable || !strings.Contains(text, "test: ") || !strings.Contains(text, "mailing: ") {
				b.Errorf("%s before Run: %d %q", path, code, text)
			}
		}
		ctx, stop := context.WithCancel(b.Context())
		ended := make(chan error, 1)
		go func() { ended <- consumer.Run(ctx, first, second) }()
		b.eventually("both are ready", func() bool { code, text := ask("/readyz"); return code == http.StatusOK && text == "ok\n" })
		if code, text := ask("/livez"); code != http.StatusOK || text != "ok\n" {
			b.Errorf("alive: %d %q", code, text)
		}
		b.acked(b.deliver("m1", "{}"))
		if err := second.Pause(b.Context(), "ann", "the bank is down"); err != nil {
			b.Fatal(err)
		}
		if code, text := ask("/readyz"); code != http.StatusOK || text != "ok\nmailing: paused by ann\n" {
			b.Errorf("ready, and paused by a person: %d %q", code, text)
		}
		stop()
		if err := <-ended; err != nil {
			b.Errorf("Run: %v", err)
		}
		if err := errors.Join(first.Alive(), second.Alive()); !errors.Is(err, consumer.ErrNotRunning) {
			b.Errorf("after the stop: %v", err)
		}
	})
}

// When one ends, all are stopped; the error is that one's.
func TestRunEndsWithTheFirst(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		first, second := pair(b)
		handled(first)
		handled(second)
		b.start(second) // it cannot run twice
		b.eventually("the second runs", func() bool { return second.Ready() == nil })
		if err := consumer.Run(b.Context(), first, second); !errors.Is(err, consumer.ErrRunning) || !strings.HasPrefix(err.Error(), "consumer mailing: ") {
			b.Errorf("Run: %v", err)
		}
		if err := first.Alive(); !errors.Is(err, consumer.ErrNotRunning) {
			b.Errorf("the first: %v", err)
		}
		if err := b.halt(); err != nil {
			b.Errorf("the second: %v", err)
		}
	})
}

// A list of consumers that is empty by mistake is no success.
func TestRunWithoutConsumers(t *testing.T) {
	if err := consumer.Run(t.Context()); err == nil {
		t.Error("Run without consumers returned nil")
	}
	if err := consumer.Run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "consumer 1 of 1 is nil") {
		t.Errorf("Run of nil: %v", err)
	}
	w := httptest.NewRecorder()
	consumer.Probes().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("ready without consumers: %d %q", w.Code, w.Body)
	}
}

// Mistakes are known before anything runs.
func TestErr(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		first, second := pair(b)
		if err := first.Err(); err == nil || !strings.Contains(err.Error(), "consumer test: no handler is registered") {
			b.Errorf("without a handler: %v", err)
		}
		handled(first)
		if err := first.Err(); err != nil {
			b.Errorf("a good one: %v", err)
		}
		consumer.Handle[body](second, topic, nil)
		err := second.Err()
		if err == nil || !strings.Contains(err.Error(), "the function is nil") {
			b.Errorf("a mistake: %v", err)
		}
		if ran := consumer.Run(b.Context(), first, second); ran == nil || ran.Error() != err.Error() || first.Alive() == nil {
			b.Errorf("Run with a mistake: %v; alive: %v", ran, first.Alive())
		}
	})
}

// slowSubscriber holds up a consumer that subscribes by itself until gate is closed.
type slowSubscriber struct {
	store.Store
	slow string
	gate chan struct{}
}

func (s *slowSubscriber) Operations() store.Operations {
	o := s.Store.Operations()
	o.Subscriptions = slowSubscriptions{o.Subscriptions, s}
	return o
}

type slowSubscriptions struct {
	outbox.Subscriptions
	s *slowSubscriber
}

func (s slowSubscriptions) Subscribe(ctx context.Context, topics map[string][]string) error {
	if _, slow := topics[s.s.slow]; slow && len(topics) == 1 {
		select {
		case <-s.s.gate:
		case <-ctx.Done():
		}
	}
	return s.Subscriptions.Subscribe(ctx, topics)
}

// Consumers of one program subscribe together: an event that was written before, or while
// they start, is for all of them. It was for the first one only, and the other one never
// got it.
func TestRunSubscribesTogether(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		st := &slowSubscriber{Store: b.st, slow: "mailing", gate: make(chan struct{})}
		var got [2]chan string
		var all []*consumer.Consumer
		for i, name := range []string{"billing", "mailing"} {
			c, err := consumer.New(name, st, b.local())
			if err != nil {
				b.Fatal(err)
			}
			got[i] = make(chan string, 1)
			consumer.Handle(c, "local", func(_ context.Context, _ *headrace.Tx, m *headrace.Message[body]) error {
				got[i] <- m.ID
				return nil
			}, consumer.Local(), consumer.Alone())
			all = append(all, c)
		}
		b.publish(headrace.Event{Topic: "local", ID: "early", Value: body{}, Local: true})
		ctx, stop := context.WithCancel(b.Context())
		ended := make(chan error, 1)
		go func() { ended <- consumer.Run(ctx, all...) }()
		for i := range got {
			select {
			case <-got[i]:
			case <-time.After(20 * time.Second):
				b.Errorf("%s did not get the event", all[i].Name())
			}
			if i == 0 {
				close(st.gate)
			}
		}
		stop()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
}
