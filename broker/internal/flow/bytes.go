package flow

import (
	"context"
	"sync"
)

// Bytes bounds the bytes of messages in flight where a broker is asked for a number of
// messages: it says how many of the usual size there is room for. It is safe for
// concurrent use.
type Bytes struct {
	// Most is the bound. Messages that are larger than the usual one exceed it by one
	// request; the next requests ask for fewer.
	Most int64

	mu    sync.Mutex
	used  int64
	usual float64       // size of a message: rises at once, falls slowly
	freed chan struct{} // closed when there is more room; nil if nothing waits
}

// firstRoom is how many messages there is room for while their size is unknown.
const firstRoom = 8

// Room returns how many more messages may be asked for; 0 if there is no room.
func (b *Bytes) Room() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.room()
}

func (b *Bytes) room() int {
	switch {
	case b.used >= b.Most:
		return 0
	case b.usual == 0:
		return firstRoom
	}
	return max(int(float64(b.Most-b.used)/b.usual), 1)
}

// Wait waits until there is room, and returns it; 0 if ctx ended.
func (b *Bytes) Wait(ctx context.Context) int {
	for {
		b.mu.Lock()
		n := b.room()
		if n == 0 && b.freed == nil {
			b.freed = make(chan struct{})
		}
		freed := b.freed
		b.mu.Unlock()
		if n > 0 {
			return n
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return 0
		}
	}
}

// Take waits for room, and takes a place in window for each of up to most messages that
// are likely to fit. It returns how many places it took; 0 if ctx ended.
func (b *Bytes) Take(ctx context.Context, window chan struct{}, most int) (n int) {
	select {
	case window <- struct{}{}:
	case <-ctx.Done():
		return 0
	}
	if most = min(b.Wait(ctx), most); most == 0 {
		<-window
		return 0
	}
	for n = 1; n < most; n++ {
		select {
		case window <- struct{}{}:
		default:
			return n
		}
	}
	return n
}

// Add counts a message in.
func (b *Bytes) Add(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used += int64(n)
	if size := max(float64(n), 1); size > b.usual {
		b.usual = size
	} else {
		b.usual += (size - b.usual) / 32
	}
}

// Free counts a message out.
func (b *Bytes) Free(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used -= int64(n); b.freed != nil && b.used < b.Most {
		close(b.freed)
		b.freed = nil
	}
}
