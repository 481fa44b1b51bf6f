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

// A place in the window is taken for each message that is likely to fit, and for no more
// than there are places; the end of the context leaves none taken.
func TestTake(t *testing.T) {
	b := flow.Bytes{Most: 1000}
	window := make(chan struct{}, 12)
	for i, want := range []int{8, 4} { // the size is unknown; then the window is full
		if n := b.Take(t.Context(), window, 10); n != want {
			t.Errorf("take %d: %d places, want %d", i, n, want)
		}
	}
	for range 12 {
		<-window
	}
	b.Add(300)
	if n := b.Take(t.Context(), window, 10); n != 2 || len(window) != 2 {
		t.Errorf("%d places for 700 bytes, %d in the window", n, len(window))
	}
	b.Add(700)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if n := b.Take(ended, window, 10); n != 0 || len(window) != 2 {
		t.Errorf("%d places after the end, %d in the window", n, len(window))
	}
}
