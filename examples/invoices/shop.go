package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/headrace/headrace/examples/internal/child"
	"github.com/headrace/headrace/examples/internal/sender"
)

// shop sends orders as Shopify does: signed, again until the answer is 200, and some of them
// twice under another id.
type shop struct {
	url      string
	http     *http.Client
	ctx      context.Context
	stop     context.CancelFunc
	sending  sync.WaitGroup
	answered chan struct{} // has a value after an answer of 200
}

func newShop(url string) *shop {
	ctx, stop := context.WithCancel(context.Background())
	return &shop{url: url, http: &http.Client{Timeout: 5 * time.Second}, ctx: ctx, stop: stop, answered: make(chan struct{}, 1)}
}

// send begins to send the orders from first to before last.
func (s *shop) send(first, last int) {
	for i := first; i < last; i++ {
		s.sending.Go(func() {
			s.deliver(i, fmt.Sprintf("event-%d", i))
			if i%10 == 0 {
				s.deliver(i, fmt.Sprintf("second-event-%d", i))
			}
		})
	}
}

// deliver sends an order until it is answered.
func (s *shop) deliver(i int, id string) {
	body, err := json.Marshal(order{ID: i, Email: fmt.Sprintf("buyer-%d@example.com", i), Total: 1000 + i})
	if err != nil {
		panic(err) // an order is JSON
	}
	for s.ctx.Err() == nil {
		if sender.Post(s.ctx, s.http, s.url, id, body) {
			select {
			case s.answered <- struct{}{}:
			default:
			}
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-s.ctx.Done():
		}
	}
}

// waitForAnswer waits until an order is answered, or is not for a while because none is
// left.
func (s *shop) waitForAnswer(ctx context.Context) error {
	select {
	case <-s.answered:
	case <-time.After(2 * time.Second):
	case <-ctx.Done():
		return child.ErrStopped
	}
	return nil
}

// close ends the sending.
func (s *shop) close() {
	s.stop()
	s.sending.Wait()
	s.http.CloseIdleConnections()
}
