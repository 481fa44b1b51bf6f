package main

import (
	"encoding/json"
	"strings"
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
