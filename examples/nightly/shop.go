package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/examples/internal/sender"
)

// shop sells, tells of it by webhooks, and has the books.
type shop struct {
	hooks   string // the URL of the webhooks
	http    *http.Client
	mu      sync.Mutex
	sold    []order
	later   []order       // whose webhooks come later
	told    int           // webhooks with an answer of 200
	asked   atomic.Int64  // requests of the API in this night
	reading chan struct{} // has a value when the books are read
}

func newShop(hooks string) *shop {
	return &shop{hooks: hooks, http: &http.Client{Timeout: 5 * time.Second}, reading: make(chan struct{}, 1)}
}

// sell sells n orders. Of each six one is never told, and one is told later; with silent
// none is told.
func (s *shop) sell(ctx context.Context, n int, silent bool) {
	var telling sync.WaitGroup
	for i := range n {
		s.mu.Lock()
		o := order{ID: len(s.sold) + 1, Total: 1000 + i, Paid: time.Now()}
		s.sold = append(s.sold, o)
		if !silent && i%6 == 1 {
			s.later = append(s.later, o)
		}
		s.mu.Unlock()
		if !silent && i%6 > 1 {
			telling.Go(func() { s.tell(ctx, o, 3) })
		}
		time.Sleep(10 * time.Millisecond)
	}
	telling.Wait()
}

// tell sends a webhook, at most so many times.
func (s *shop) tell(ctx context.Context, o order, times int) bool {
	body, err := json.Marshal(o)
	if err != nil {
		panic(err) // an order is JSON
	}
	for range times {
		if sender.Post(ctx, s.http, s.hooks, fmt.Sprint("order-", o.ID, o.Again), body) {
			s.mu.Lock()
			s.told++
			s.mu.Unlock()
			return true
		}
		time.Sleep(50 * time.Millisecond)
	}
	return false
}

// tellLater sends the webhooks that come later, with other bytes, and returns how many.
func (s *shop) tellLater(ctx context.Context) (int, error) {
	s.mu.Lock()
	later := s.later
	s.later = nil
	s.mu.Unlock()
	for _, o := range later {
		if o.Again = true; !s.tell(ctx, o, 200) {
			return 0, fmt.Errorf("the webhook of order %d is not answered", o.ID)
		}
	}
	return len(later), nil
}

// numbers returns how many orders were sold, and how many webhooks were answered.
func (s *shop) numbers() (sold, told int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sold), s.told
}

// perPage is how many orders a page of the API has.
const perPage = 10

// ServeHTTP is the API. The second request of each night fails.
func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case s.reading <- struct{}{}:
	default:
	}
	from, err1 := time.Parse(time.RFC3339Nano, r.FormValue("from"))
	to, err2 := time.Parse(time.RFC3339Nano, r.FormValue("to"))
	after, err3 := strconv.Atoi(r.FormValue("after"))
	switch {
	case err1 != nil || err2 != nil || err3 != nil:
		w.WriteHeader(http.StatusBadRequest)
		return
	case s.asked.Add(1) == 2:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	p := page{Orders: []order{}}
	s.mu.Lock()
	for _, o := range s.sold {
		if o.ID <= after || o.Paid.Before(from) || !o.Paid.Before(to) {
			continue
		}
		if len(p.Orders) == perPage {
			p.Next = p.Orders[perPage-1].ID
			break
		}
		p.Orders = append(p.Orders, o)
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(p)
}
