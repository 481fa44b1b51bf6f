package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
)

func TestSourceKeepsSoManyInFlight(t *testing.T) {
	src := newSource(4, newMessage)
	messages, err := src.Subscribe(t.Context(), ordersTopic)
	if err != nil {
		t.Fatal(err)
	}
	var most, now atomic.Int64
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		var held []*message.Message
		for {
			select {
			case m := <-messages:
				most.Store(max(most.Load(), now.Add(1)))
				if held = append(held, m); len(held) == 4 {
					now.Add(-4)
					for _, m := range held {
						m.Ack()
					}
					held = nil
				}
			case <-stop:
				return
			}
		}
	}()
	var h histogram
	n, err := src.feed(t.Context(), 100, &h, nil)
	close(stop)
	<-ended
	if err != nil || n != 100 || src.delivered() != 100 {
		t.Fatalf("fed %d (%v), delivered %d; want 100", n, err, src.delivered())
	}
	if most.Load() != 4 {
		t.Errorf("%d in flight, want 4", most.Load())
	}
}

// A source that took a message back would have to deliver it again, and the figure
// would be one of retries.
func TestNackIsAnError(t *testing.T) {
	src := newSource(2, newMessage)
	messages, err := src.Subscribe(t.Context(), ordersTopic)
	if err != nil {
		t.Fatal(err)
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case m := <-messages:
				m.Nack()
			case <-stop:
				return
			}
		}
	}()
	var h histogram
	_, err = src.feed(t.Context(), 10, &h, nil)
	close(stop)
	<-ended
	if err == nil || !strings.Contains(err.Error(), "given back") {
		t.Errorf("error %v, want one that says so", err)
	}
}

func TestMessagesDiffer(t *testing.T) {
	seen := make(map[string]bool)
	for n := range uint64(10_000) {
		m := newMessage(n)
		if seen[m.UUID] {
			t.Fatalf("message %d has the id of another", n)
		}
		seen[m.UUID] = true
		var o order
		if err := json.Unmarshal(m.Payload, &o); err != nil || o.ID != m.UUID || o.TotalCents == 0 {
			t.Fatalf("message %d: %+v, %v", n, o, err)
		}
		if len(m.UUID) != 36 || len(m.Payload) < 280 || len(m.Payload) > 320 {
			t.Fatalf("message %d: an id of %d and a payload of %d bytes", n, len(m.UUID), len(m.Payload))
		}
	}
}

// Two handlers have messages in turn only where the source gives them so.
func TestTopicsHaveMessagesInTurn(t *testing.T) {
	src := newSource(1, newMessage, "a", "b")
	if _, err := src.Subscribe(t.Context(), "c"); err == nil {
		t.Error("a subscription of a topic that there is not")
	}
	var got []string
	var ended sync.WaitGroup
	stop := make(chan struct{})
	var mu sync.Mutex
	for _, topic := range []string{"a", "b"} {
		select {
		case <-src.ready:
			t.Fatal("the source begins before each topic has a subscription")
		default:
		}
		messages, err := src.Subscribe(t.Context(), topic)
		if err != nil {
			t.Fatal(err)
		}
		ended.Go(func() {
			for {
				select {
				case m := <-messages:
					mu.Lock()
					got = append(got, topic)
					mu.Unlock()
					m.Ack()
				case <-stop:
					return
				}
			}
		})
	}
	var h histogram
	_, err := src.feed(t.Context(), 6, &h, nil)
	close(stop)
	ended.Wait()
	if all := strings.Join(got, ""); err != nil || all != "ababab" {
		t.Errorf("the topics had messages in the order %s (%v), want ababab", all, err)
	}
}

// The window is of messages that are not applied, whether they are acknowledged or not.
func TestWindow(t *testing.T) {
	src := newSource(4, newMessage)
	messages, err := src.Subscribe(t.Context(), ordersTopic)
	if err != nil {
		t.Fatal(err)
	}
	var taken, done atomic.Int64
	var consumer sync.WaitGroup
	stop := make(chan struct{})
	consumer.Go(func() {
		for {
			select {
			case m := <-messages:
				n := taken.Add(1)
				if open := n - done.Load(); open > 10 {
					t.Errorf("%d messages are not applied, want 10 at most", open)
				}
				m.Ack()
				if n%10 == 0 { // the source can give no more until some are applied
					done.Store(n)
				}
			case <-stop:
				return
			}
		}
	})
	applied := applied(func() int { return int(done.Load()) })
	closeWindow := src.within(10, applied)
	var h histogram
	n, err := src.feed(t.Context(), 100, &h, nil)
	closeWindow()
	if err == nil {
		err = applied.await(t.Context(), 100, nil)
	}
	close(stop)
	consumer.Wait()
	if err != nil || n != 100 {
		t.Errorf("fed %d (%v), want 100", n, err)
	}
}

func TestAwaitEnds(t *testing.T) {
	never := applied(func() int { return 1 })
	abandoned := make(chan struct{})
	close(abandoned)
	if err := never.await(t.Context(), 2, abandoned); !errors.Is(err, errAbandoned) {
		t.Errorf("error %v of a consumer that has ended", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := never.await(ctx, 2, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v of a run that was cut short", err)
	}
}
