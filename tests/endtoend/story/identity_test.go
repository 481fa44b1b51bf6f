package story

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/examples/orders/billing"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/tests/endtoend/shopify"
)

const paid = `{"id":450789469,"name":"#1001","email":"bob@example.com","currency":"EUR","total_price":"199.90",` +
	`"financial_status":"paid","line_items":[{"id":1,"price":"199.90"}],"updated_at":"2026-01-01T10:00:00Z"}`

// keyed is what the consumer makes of a delivery; ok is false where it has no key or no fingerprint.
func keyed(d *headrace.Delivery) (pair [2]string, ok bool) {
	key, err := inbox.Resolve(billing.Key(), d)
	if err != nil {
		return pair, false
	}
	print, err := billing.SameWhen()(d)
	return [2]string{key, print}, err == nil
}

// The intent is shop:order:id:paid, whatever the webhook's id and updated_at; without a shop, or without an id in
// the body, it is the message's own id.
func TestKey(t *testing.T) {
	for _, tc := range []struct {
		name, id, shop, body, want string
	}{
		{"paid", "w1", "mill.example", paid, "mill.example:order:450789469:paid"},
		{"unpaid", "w1", "mill.example", `{"id":450789469,"financial_status":"pending"}`, "mill.example:order:450789469:pending"},
		{"no shop", "w1", "", paid, "w1"},
		{"no id in the body", "w1", "mill.example", `{"financial_status":"paid"}`, "w1"},
		{"another system", "w1", "mill.example", `{"id":"evt_1"}`, "w1"},
		{"large id", "w1", "mill.example", `{"id":9007199254740993,"financial_status":"paid"}`, "mill.example:order:9007199254740993:paid"},
		{"neither shop nor id", "", "", paid, ""},
	} {
		d := headrace.Delivery{ID: tc.id, Payload: []byte(tc.body), Metadata: map[string]string{shopify.ShopHeader: tc.shop}}
		if got, _ := inbox.Resolve(billing.Key(), &d); got != tc.want {
			t.Errorf("%s: key %q, want %q", tc.name, got, tc.want)
		}
	}
}

// The fingerprint covers what the invoice depends on, and updated_at is none of it.
func TestFingerprint(t *testing.T) {
	print := func(name, value string) string {
		var o map[string]json.RawMessage
		if err := json.Unmarshal([]byte(paid), &o); err != nil {
			t.Fatal(err)
		}
		o[name] = json.RawMessage(value)
		got, err := billing.SameWhen()(&headrace.Delivery{Payload: marshal(o)})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first := print("id", "450789469")
	for _, name := range []string{"updated_at", "created_at", "note", "customer"} {
		if print(name, `"other"`) != first {
			t.Errorf("%s changes the fingerprint", name)
		}
	}
	for _, name := range []string{"id", "name", "email", "currency", "total_price", "financial_status", "line_items"} {
		if print(name, `"other"`) == first {
			t.Errorf("%s does not change the fingerprint", name)
		}
	}
}

// The figures' own idea of a message is never finer than the consumer's: otherwise a duplicate that it rightly
// drops would look lost. And of paid orders it is never coarser: otherwise a lost one would look like another.
func TestIdentityAgreesWithInbox(t *testing.T) {
	f, err := os.Open(variedFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list := all(t, newInput(f, variedFile))
	list = append(list, all(t, newGenerator(300, 3))...)
	i := newIdentifier()
	byKey, byIdentity := map[[2]string]identity{}, map[identity][2]string{}
	for _, w := range list {
		d := w.delivered()
		pair, ok := keyed(d)
		if !ok {
			continue
		}
		id := i.identify(d)
		if other, known := byKey[pair]; known && other != id {
			t.Errorf("key and fingerprint %v: identities %v and %v", pair, id, other)
		}
		if other, known := byIdentity[id]; known && other != pair {
			t.Errorf("identity %v: keys and fingerprints %v and %v", id, pair, other)
		}
		byKey[pair], byIdentity[id] = id, pair
	}
	if len(byKey) < 200 {
		t.Fatalf("only %d messages were compared", len(byKey))
	}
}

// Two orders that differ in anything that the invoice shows are two messages, and one that is sent again is not.
func TestIdentityProperty(t *testing.T) {
	i := newIdentifier()
	rapid.Check(t, func(t *rapid.T) {
		shops, names := []string{"a.example", "b.example", ""}, []string{"#1", "#2"}
		draw := func(label string) (*headrace.Delivery, shopify.Order) {
			o := shopify.Order{
				ID: rapid.Int64Range(1, 3).Draw(t, label+" id"), Name: rapid.SampledFrom(names).Draw(t, label+" name"),
				Currency:   rapid.SampledFrom([]string{"EUR", "JPY"}).Draw(t, label+" currency"),
				TotalPrice: rapid.SampledFrom([]string{"1", "2"}).Draw(t, label+" total"), FinancialStatus: "paid",
				UpdatedAt: rapid.String().Draw(t, label+" updated_at"),
			}
			return &headrace.Delivery{
				ID: rapid.SampledFrom([]string{"x", "y"}).Draw(t, label+" message id"), Payload: marshal(o),
				Metadata: map[string]string{shopify.ShopHeader: rapid.SampledFrom(shops).Draw(t, label+" shop")},
			}, o
		}
		a, _ := draw("a")
		b, _ := draw("b")
		pa, _ := keyed(a)
		pb, _ := keyed(b)
		if same := i.identify(a) == i.identify(b); same != (pa == pb) {
			t.Fatalf("same identity: %v; keys and fingerprints %v, %v", same, pa, pb)
		}
	})
}

// An id that no text column takes is told apart all the same, in the form in which the tables keep it.
func TestPrintable(t *testing.T) {
	for _, id := range []string{"", "plain", "nul-\x00", "\xff", string(make([]byte, 5000))} {
		if once := shopify.PrintableID(id); shopify.PrintableID(once) != once || len(once) > 1<<10 {
			t.Errorf("shopify.PrintableID(%.10q) = %.20q", id, once)
		}
	}
}

// A message is the same in the journal and in the tables, which keep its id and its coordinates as text.
func TestIdentityOfWhatIsKept(t *testing.T) {
	i := newIdentifier()
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.OneOf(
			rapid.String(),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.Map(rapid.IntRange(0, 600), func(n int) string { return strings.Repeat("\x00", n) }),
			rapid.Map(rapid.IntRange(480, 2100), func(n int) string { return strings.Repeat("x", n) }),
			rapid.Map(rapid.IntRange(480, 1100), func(n int) string { return strings.Repeat("é", n) + "\xff" }),
		).Draw(t, "id")
		d := headrace.Delivery{
			ID: id, Payload: []byte(rapid.SampledFrom([]string{paid, `{"zen":1}`, `{"id":`, ""}).Draw(t, "payload")),
			Metadata:    map[string]string{shopify.ShopHeader: rapid.SampledFrom([]string{"", "mill.example"}).Draw(t, "shop")},
			Coordinates: headrace.Coordinates{Broker: "file", Topic: "a\xff\x00.jsonl", Position: "line 1"},
		}
		kept := d
		_ = inbox.Identify(&kept, billing.Key(), billing.SameWhen(), nil) // as package consumer does; and the stores:
		kept.ID, kept.Fingerprint = encode.Text(id, 1<<10), ""
		written, err := json.Marshal(d.Coordinates)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(written, &kept.Coordinates); err != nil {
			t.Fatal(err)
		}
		if was, is := i.identify(&d), i.identify(&kept); was != is {
			t.Fatalf("in the journal %v, in the tables %v", was, is)
		}
	})
}
