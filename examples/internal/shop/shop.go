package shop

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/store/sqlite"
)

// Tables are those of the program, beside headrace's own. They have no unique index, so an
// effect that is applied twice shows.
const Tables = `
	CREATE TABLE IF NOT EXISTS invoices (order_id INTEGER, total INTEGER);
	CREATE TABLE IF NOT EXISTS mails (order_id INTEGER)`

// What is sent: orders 1 to total.
const (
	total  = 100
	twice  = total / 10 // are sent a second time
	poison = 2          // can never be invoiced
	sent   = total + twice
)

// Orders returns the messages of all orders.
func Orders() []*message.Message {
	var messages []*message.Message
	for id := 1; id <= total; id++ {
		body := fmt.Sprintf(`{"id": %d, "total": %d}`, id, 100*id)
		switch id {
		case 51:
			body = fmt.Sprintf(`{"id": %d, "total": 0}`, id)
		case 52:
			body = `<order id="52">`
		}
		messages = append(messages, message.NewMessage(fmt.Sprintf("webhook-%d", id), []byte(body)))
		if id%10 == 0 {
			messages = append(messages, message.NewMessage(fmt.Sprintf("webhook-%d-again", id), []byte(body)))
		}
	}
	return messages
}

// File returns file, or where that is "" a new one in a temporary directory.
func File(file string) (string, error) {
	if file != "" {
		return file, nil
	}
	dir, err := os.MkdirTemp("", "orders-")
	return filepath.Join(dir, "orders.db"), err
}

// limit is how long a run may take.
const limit = 2 * time.Minute

// UntilDone returns a context that ends with ctx, when all orders are done, or after two
// minutes.
func UntilDone(ctx context.Context, c *consumer.Consumer, st *sqlite.Store) context.Context {
	ctx, stop := context.WithTimeout(ctx, limit)
	go func() { // ends with ctx
		defer stop()
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for !done(ctx, c, st) {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx
}

// done reports whether every message was delivered and has its outcome. A store that does
// not answer is asked again.
func done(ctx context.Context, c *consumer.Consumer, st *sqlite.Store) bool {
	s := c.Stats()
	if s.Delivered < sent || s.Duplicates < twice || s.InFlight > 0 {
		return false
	}
	n, err := count(ctx, st)
	return err == nil && n.invoiced+n.dead >= total && n.mails >= n.invoiced
}
