package shop

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/retry"
)

// Topics of the shop.
const (
	Paid    = "orders.paid"
	Created = "invoices.created"
)

// Order is what a message on Paid says.
type Order struct {
	ID    string `json:"id"`
	Total int64  `json:"total"` // in cents
}

// Invoice is the row of an order, as gorm sees it.
type Invoice struct {
	OrderID string
	Total   int64
}

// Announce returns the message that says that an order has its invoice.
func Announce(o Order) ([]*message.Message, error) {
	payload, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	return []*message.Message{message.NewMessage("invoice of "+o.ID, payload)}, nil
}

// Retry is a policy that a demonstration can wait for.
var Retry = retry.Policy{MaxAttempts: 4, Backoff: retry.Backoff{Initial: 10 * time.Millisecond, Max: 20 * time.Millisecond, Factor: 2}}

// Flaky is a check that orders have to pass, as an address that is looked up
// elsewhere: for one order in five it fails twice, and for one in seven it panics once.
// It is safe for concurrent use.
type Flaky struct {
	mu    sync.Mutex
	calls map[string]int
}

// Check fails or not, by the order and by how often it was asked before.
func (f *Flaky) Check(o Order) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil {
		f.calls = make(map[string]int)
	}
	f.calls[o.ID]++
	switch n := f.calls[o.ID]; {
	case o.Total%5 == 0 && n <= 2:
		return errors.New("the address service does not answer")
	case o.Total%7 == 0 && n == 1:
		panic(fmt.Sprintf("order %s has no address", o.ID))
	}
	return nil
}
