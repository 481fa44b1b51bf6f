package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/broker/internal/flow"
	"github.com/headrace/headrace/outbox/relay"
)

var (
	// ErrClosed matches the error of calls of a closed Source or Sink.
	ErrClosed = errors.New("postgres: closed")
	// ErrNoGroup matches the error of publishing to a topic that no group subscribed to.
	ErrNoGroup = errors.New("no group has subscribed to the topic")
)

// Sink puts messages into queues. It is safe for concurrent use.
type Sink struct {
	ask     *asking
	all     statements
	timeout time.Duration
	drop    bool
	schema  string

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup
}

var (
	_ message.Publisher    = (*Sink)(nil)
	_ relay.HealthReporter = (*Sink)(nil)
)

// NewSink returns a Sink. It does not connect; the first Publish does.
func NewSink(o SinkOptions) (*Sink, error) {
	if o.DB == nil {
		return nil, errors.New("postgres.NewSink: option DB is nil")
	}
	if err := flow.Times(flow.Time{Name: "PublishTimeout", Value: o.PublishTimeout}); err != nil {
		return nil, fmt.Errorf("postgres.NewSink: %w", err)
	}
	if o.Schema == "" {
		o.Schema = "public"
	}
	if o.PublishTimeout == 0 {
		o.PublishTimeout = 10 * time.Second
	}
	all, err := load(o.Schema)
	if err != nil {
		return nil, fmt.Errorf("postgres.NewSink: %w", err)
	}
	return &Sink{ask: &asking{db: o.DB}, all: all, timeout: o.PublishTimeout, drop: o.UnsafeNoGroup, schema: o.Schema}, nil
}

// SinkKind names the schema, for the relay. The database is not known from its pool, so it is
// no identity: see relay.Options.SinkID.
func (s *Sink) SinkKind() string { return "postgres schema " + s.schema }

// row is a message in the document of publish.sql.
type row struct {
	N        int               `json:"n"`
	UUID     string            `json:"uuid"`
	OrderKey string            `json:"order_key"`
	Metadata map[string]string `json:"metadata"`
	Payload  []byte            `json:"payload"` // base64
}

// Publish implements message.Publisher. After nil all messages are committed. After an
// error none of them is, or, if the connection was lost or there is no answer, it is
// unknown. It blocks for at most PublishTimeout, and two seconds more if there is no
// answer.
func (s *Sink) Publish(topic string, messages ...*message.Message) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	s.calls.Add(1)
	s.mu.Unlock()
	defer s.calls.Done()
	if len(messages) == 0 {
		return nil
	}
	document, err := json.Marshal(rows(messages))
	if err != nil {
		return fmt.Errorf("publish to %q: %w", topic, err)
	}
	n, err := s.ask.exec(context.Background(), s.timeout, s.all.get("publish"), topic, string(document))
	if err != nil {
		return fmt.Errorf("publish to %q: %w", topic, err)
	}
	if n == 0 && !s.drop {
		return fmt.Errorf("publish to %q: %w", topic, ErrNoGroup)
	}
	return nil
}

func rows(messages []*message.Message) []row {
	all := make([]row, len(messages))
	for i, m := range messages {
		metadata := make(map[string]string, len(m.Metadata))
		for name, value := range m.Metadata {
			metadata[text(name)] = text(value)
		}
		all[i] = row{N: i, UUID: text(m.UUID), OrderKey: text(headrace.ArrivalFrom(m.Context()).OrderKey), Metadata: metadata, Payload: m.Payload}
	}
	return all
}

// Close implements message.Publisher: it waits for running calls of Publish. An error
// says that the driver still waits for answers of abandoned calls; those waits end by
// themselves. Close may be called twice.
func (s *Sink) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.calls.Wait()
	if n := s.ask.left.Load(); n > 0 {
		return fmt.Errorf("postgres: %d statements of Publish have no answer, and are left to the driver of option DB", n)
	}
	return nil
}
