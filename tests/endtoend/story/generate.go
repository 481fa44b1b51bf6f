package story

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/tests/endtoend/shopify"
)

// webhook is one message as its sender gave it.
type webhook struct {
	ID       string // the message's own id; "" if it has none
	OrderKey string // webhooks with the same key are handled in order; "" if none
	Headers  map[string]string
	Payload  []byte
	At       headrace.Coordinates // where it stood
}

// stream is where webhooks come from. next blocks until there is one, returns io.EOF after the last, and is
// called by one goroutine.
type stream interface {
	next(ctx context.Context) (webhook, error)
}

// faultHeader asks the handler of a generated webhook to fail.
const faultHeader = "X-Simulated-Fault"

// generator makes the webhooks of a shop that sends as shops do: more than a fifth repeat a fact under another
// webhook id and with another updated_at, some of them at the same time; some are wrong. The same seed gives
// the same webhooks.
type generator struct {
	n, i   int
	seed   uint64
	random *rand.Rand
	base   int64
	orders int64
	recent []shopify.Order // what may be repeated
	last   shopify.Order
}

const (
	// remembered is how many orders back a repetition reaches.
	remembered = 100
	// totals is what the first total of an order stays below, in minor units.
	totals = 100_000
)

func newGenerator(n int, seed uint64) *generator {
	random := rand.New(rand.NewPCG(seed, 0x6865616472616365))
	// Order ids of different seeds are far apart, and all below 2^53 as Shopify's are.
	return &generator{n: n, seed: seed, random: random, base: 1e12 + random.Int64N(1e9)*1e6}
}

// next implements stream. The places of the special ones are fixed so that 20 webhooks have one of each.
func (g *generator) next(context.Context) (webhook, error) {
	i := g.i
	if i >= g.n {
		return webhook{}, io.EOF
	}
	g.i++
	switch {
	case i%32 == 5, i%32 == 6: // with the new one at 4 these are three deliveries of one order, in flight at once
		return g.send(g.again(g.last), "")
	case i%4 == 1 && len(g.recent) > 0:
		return g.send(g.again(g.recent[g.random.IntN(len(g.recent))]), "")
	case i%256 == 7:
		o := g.order()
		o.TotalPrice = strings.Replace(o.TotalPrice, ".", ",", 1) + " EUR"
		return g.send(o, "")
	case i%64 == 10: // the same order with another total: a conflict, whichever comes first
		o := g.again(g.recent[g.random.IntN(len(g.recent))])
		o.TotalPrice = shopify.Decimal(totals+g.random.Int64N(totals), o.Currency)
		o.LineItems = append(o.LineItems[:len(o.LineItems):len(o.LineItems)], g.item())
		return g.send(o, "")
	case i == 11:
		return g.send(g.order(), faultPanic)
	case i%32 == 12:
		return g.send(g.order(), faultTransient)
	}
	o := g.order()
	g.last = o
	if len(g.recent) < remembered {
		g.recent = append(g.recent, o)
	} else {
		g.recent[g.random.IntN(remembered)] = o
	}
	return g.send(o, "")
}

// order makes a new order.
func (g *generator) order() shopify.Order {
	g.orders++
	currency := []string{"EUR", "USD", "GBP", "JPY", "KWD"}[g.random.IntN(5)]
	person := fmt.Sprintf("customer%d", g.random.IntN(500))
	at := g.time()
	o := shopify.Order{
		ID: g.base + g.orders, Name: fmt.Sprintf("#%d", 1000+g.orders), Email: person + "@example.com",
		Currency: currency, TotalPrice: shopify.Decimal(g.random.Int64N(totals), currency), FinancialStatus: "paid",
		Customer:  marshal(map[string]any{"id": g.random.IntN(500), "email": person + "@example.com", "first_name": person}),
		CreatedAt: at, UpdatedAt: at,
	}
	for range 1 + g.random.IntN(4) {
		o.LineItems = append(o.LineItems, g.item())
	}
	return o
}

func (g *generator) item() json.RawMessage {
	return marshal(map[string]any{
		"id": g.random.Int64N(1e12), "title": "Flour, 1 kg", "quantity": 1 + g.random.IntN(9), "price": "3.50", "sku": "FL-1",
	})
}

// again is the same fact, sent later.
func (g *generator) again(o shopify.Order) shopify.Order {
	o.UpdatedAt = g.time()
	return o
}

func (g *generator) time() string {
	return fmt.Sprintf("2026-%02d-%02dT%02d:%02d:%02d+01:00",
		1+g.random.IntN(12), 1+g.random.IntN(28), g.random.IntN(24), g.random.IntN(60), g.random.IntN(60))
}

// send puts an order into a webhook with an id of its own.
func (g *generator) send(o shopify.Order, fault string) (webhook, error) {
	id := fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", g.random.Uint32(), g.random.IntN(1<<16), g.random.IntN(1<<12),
		g.random.IntN(1<<12), g.random.Int64N(1<<48))
	w := webhook{
		ID: id,
		Headers: map[string]string{
			shopify.ShopHeader: fmt.Sprintf("mill-%d.myshopify.com", o.ID%7), "X-Shopify-Topic": "orders/paid",
			"X-Shopify-Webhook-Id": id, "Content-Type": "application/json",
		},
		Payload: marshal(o),
		At:      headrace.Coordinates{Broker: "generator", Topic: fmt.Sprintf("seed %d", g.seed), Position: fmt.Sprint(g.i - 1)},
	}
	if fault != "" {
		w.Headers[faultHeader] = fault
	}
	if g.i%3 == 0 { // every third asks to be handled in the order of its customer
		w.OrderKey = o.Email
	}
	return w, nil
}

// marshal encodes what always has a JSON form.
func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("story: " + err.Error())
	}
	return b
}
