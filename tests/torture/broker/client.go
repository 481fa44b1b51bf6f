package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
)

// KeyHeader carries the key of a message to handlers.
const KeyHeader = "key"

// Subscriber is a message.Subscriber. It connects again when its session has ended;
// answers to messages of an older session are dropped by the server.
type Subscriber struct {
	Addr   string
	Window int // messages without an answer, for each subscription
}

// Subscribe implements message.Subscriber.
func (s *Subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	out := make(chan *message.Message)
	go func() {
		defer close(out)
		for ctx.Err() == nil {
			_ = s.session(ctx, topic, out)
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return out, nil
}

// Close implements message.Subscriber; subscriptions end with their contexts.
func (s *Subscriber) Close() error { return nil }

func (s *Subscriber) session(ctx context.Context, topic string, out chan<- *message.Message) error {
	c, err := net.Dial("tcp", s.Addr)
	if err != nil {
		return err
	}
	w := newWire(c)
	own, cancel := context.WithCancel(ctx)
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer cancel()
	helpers.Go(func() { <-own.Done(); _ = c.Close() })
	helpers.Go(func() { beat(own, w) })
	if err := w.send(frame{Op: "sub", Topic: topic, Window: s.Window}); err != nil {
		return err
	}
	for {
		f, err := w.receive(0)
		if err != nil {
			return err
		}
		for _, m := range f.Messages {
			given := watermill(own, m)
			select {
			case out <- given:
				helpers.Go(func() { answer(own, w, m.N, given) })
			case <-own.Done():
				return own.Err()
			}
		}
	}
}

func beat(ctx context.Context, w *wire) {
	for t := time.NewTicker(beatEvery); ; {
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
			_ = w.send(frame{Op: "beat"})
		}
	}
}

// watermill returns m as a handler's source gives it. Its context ends with the
// session.
func watermill(ctx context.Context, m Message) *message.Message {
	given := message.NewMessage(m.ID, m.Payload)
	for k, v := range m.Metadata {
		given.Metadata.Set(k, string(v))
	}
	given.SetContext(headrace.WithArrival(ctx, headrace.Arrival{Coordinates: headrace.Coordinates{Broker: "torture", Topic: m.Topic, Position: fmt.Sprint(m.N)}}))
	return given
}

func answer(ctx context.Context, w *wire, n int64, m *message.Message) {
	op := "nack"
	select {
	case <-m.Acked():
		op = "ack"
	case <-m.Nacked():
	case <-ctx.Done():
		return
	}
	_ = w.send(frame{Op: op, N: n})
}

// Publisher is a message.Publisher whose Publish returns after the server has the
// messages.
type Publisher struct {
	Addr string

	mu   sync.Mutex
	wire *wire
}

var errAnswer = errors.New("broker: an answer to something else")

// Publish implements message.Publisher.
func (p *Publisher) Publish(topic string, messages ...*message.Message) error {
	f := frame{Op: "pub", Topic: topic}
	for _, m := range messages {
		metadata := make(map[string][]byte, len(m.Metadata))
		for k, v := range m.Metadata {
			metadata[k] = []byte(v)
		}
		f.Messages = append(f.Messages, Message{ID: m.UUID, Payload: m.Payload, Metadata: metadata})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wire == nil {
		c, err := net.Dial("tcp", p.Addr)
		if err != nil {
			return err
		}
		p.wire = newWire(c)
	}
	err := p.wire.send(f)
	if err == nil {
		var done frame
		if done, err = p.wire.receive(10 * time.Second); err == nil && done.Op != "done" {
			err = errAnswer
		}
	}
	if err != nil {
		_ = p.wire.conn.Close()
		p.wire = nil
	}
	return err
}

// Close implements message.Publisher.
func (p *Publisher) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wire == nil {
		return nil
	}
	err := p.wire.conn.Close()
	p.wire = nil
	return err
}
