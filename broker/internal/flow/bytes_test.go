package flow_test

import (
	"context"
	"testing"

	"github.com/headrace/headrace/broker/internal/flow"
)

// As many messages are asked for as fit if they are as large as those before; none while
// there is no room.
func TestBytes(t *testing.T) {
	b := flow.Bytes{Most: 1000}
	if n := b.Room(); n != 8 {
		t.Errorf("room for %d of unknown size", n)
	}
	b.Add(100)
	if n := b.Room(); n != 9 {
		t.Errorf("room for %d of 100 bytes beside one", n)
	}
	b.Add(850)
	if n := b.Room(); n != 1 {
		t.Errorf("room for %d, although one may always come", n)
	}
	b.Add(50)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if n := b.Wait(ended); b.Room() != 0 || n != 0 {
		t.Errorf("room for %d, after the end for %d", b.Room(), n)
	}
	room := make(chan int)
	for range 2 {
		go func() { room <- b.Wait(t.Context()) }()
	}
	b.Free(1000)
	for range 2 {
		if n := <-room; n < 1 {
			t.Errorf("room for %d after all were freed", n)
		}
	}
	for range 200 {
		b.Add(0)
	}
	if n := b.Room(); n < 100 {
		t.Errorf("room for %d after many small ones", n)
	}
}
