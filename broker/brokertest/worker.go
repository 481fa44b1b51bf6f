package brokertest

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
)

// name is the consumer's name in all scenarios.
const name = "suite"

// handler applies one message.
type handler = func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error

// apply writes the effect.
func apply(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO effects (n) VALUES ($1)", m.Body.N)
	return err
}

// config is the same in the test and in its children.
func config(f Features, source message.Subscriber, log *slog.Logger) consumer.Config {
	c := consumer.Config{
		Source: source, Logger: log, NackPause: 50 * time.Millisecond, DrainTimeout: 20 * time.Second, HandlerTimeout: 30 * time.Second,
		Retry: retry.Policy{MaxAttempts: 3, Backoff: retry.Backoff{Initial: time.Millisecond, Max: time.Millisecond, Factor: 1}},
	}
	if f.Anonymous { // the broker gives no id to a message whose sender set none
		c.Key = inbox.First(inbox.MessageID(), inbox.JSON("n"))
	}
	return c
}

// hurry is how many times faster instances are in these tests: 12 s become 600 ms.
const hurry = 20

// newConsumer returns the consumer of a process.
func newConsumer(st store.Store, c consumer.Config, topic string, h handler) (*consumer.Consumer, error) {
	made, err := consumer.New(name, st, c)
	if err != nil {
		return nil, err
	}
	made.Runtime().Hurry(hurry)
	consumer.Handle(made, topic, h)
	return made, nil
}

// worker is a consumer with its own database handle and source, like a process.
type worker struct {
	s    *bundle
	c    *consumer.Consumer
	stop context.CancelFunc
	done chan struct{}
	err  error // once done
	once sync.Once
}

// option changes a worker's config.
type option func(*consumer.Config)

// work starts a worker with a source at addr.
func (s *bundle) work(addr string, h handler, options ...option) *worker {
	s.Helper()
	st, _ := s.open()
	s.Cleanup(func() { _ = st.Close() })
	conf := config(s.f, s.source(addr), slog.New(slog.NewTextHandler(testLog{s}, &slog.HandlerOptions{Level: slog.LevelWarn})))
	for _, o := range options {
		o(&conf)
	}
	c, err := newConsumer(st, conf, s.topic, h)
	if err != nil {
		s.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	w := &worker{s: s, c: c, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		w.err = c.Run(ctx)
	}()
	s.workers = append(s.workers, w)
	s.Cleanup(func() { w.halt() }) // before its source and its database are closed
	return w
}

// halt stops the worker and waits for it.
func (w *worker) halt() {
	w.s.Helper()
	w.stop()
	w.once.Do(func() {
		select {
		case <-w.done:
			if w.err != nil {
				w.s.Errorf("Run: %v", w.err)
			}
		case <-time.After(waitTimeout):
			w.s.Errorf("Run does not return")
		}
	})
}

// alive ends the test if a worker ended by itself.
func (s *bundle) alive() {
	s.Helper()
	for _, w := range s.workers {
		select {
		case <-w.done:
			if w.err != nil {
				s.Fatalf("Run ended: %v", w.err)
			}
		default:
		}
	}
}

// testLog writes into the test's log.
type testLog struct{ s *bundle }

// Write implements io.Writer.
func (l testLog) Write(line []byte) (int, error) {
	l.s.Logf("%s", line)
	return len(line), nil
}

// key gives a worker another key.
func key(f inbox.KeyFunc) option { return func(c *consumer.Config) { c.Key = f } }
