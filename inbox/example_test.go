package inbox_test

import (
	"errors"
	"fmt"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
)

// Shopify delivers a webhook again under a new id when it saw no answer in time. The
// shop and the order say what the message is about; where they are absent, the
// message's own id has to do.
func Example() {
	key := inbox.First(
		inbox.Join(inbox.Header("X-Shopify-Shop-Domain"), inbox.Literal("order"), inbox.JSON("id"), inbox.Literal("paid")),
		inbox.MessageID(),
	)
	for _, d := range []*headrace.Delivery{
		{
			ID:       "b54557e4",
			Payload:  []byte(`{"id": 10492, "total_price": "99.00"}`),
			Metadata: map[string]string{"X-Shopify-Shop-Domain": "shop.example"},
		},
		{ // again, through a gateway that writes header names in lower case
			ID:       "77c0b1d2",
			Payload:  []byte(`{"total_price":"99.00","id":10492}`),
			Metadata: map[string]string{"x-shopify-shop-domain": "shop.example"},
		},
		{ID: "0b9a1f00", Payload: []byte(`{"id": 10492}`)},
		{
			ID:       "5d1c22aa",
			Payload:  []byte(`<html>502 Bad Gateway</html>`),
			Metadata: map[string]string{"X-Shopify-Shop-Domain": "shop.example"},
		},
	} {
		k, err := inbox.Resolve(key, d)
		fmt.Println(k, err)
	}
	// Output:
	// shop.example:order:10492:paid <nil>
	// shop.example:order:10492:paid <nil>
	// 0b9a1f00 <nil>
	//  malformed: the payload is not JSON (28 bytes), so it has no "id"
}

func ExamplePayload() {
	fingerprint := inbox.Payload()
	for _, payload := range []string{
		`{"id": 1, "name": "caf\u00e9"}`,
		`{"name":"café","id":1}`,
		`{"name":"café","id":1.0}`,
	} {
		f, _ := fingerprint(&headrace.Delivery{Payload: []byte(payload)})
		fmt.Println(f)
	}
	// Output:
	// d58d82339716787c0ce7793104d72c3c
	// d58d82339716787c0ce7793104d72c3c
	// 5425dfa24d2060fab93479e1777beaec
}

func ExampleFields() {
	fingerprint := inbox.Fields("id", "total")
	for _, payload := range []string{
		`{"id": 1, "total": "9.90", "sent_at": "10:00"}`,
		`{"id": 1, "total": "9.90", "sent_at": "10:05"}`,
		`{"id": 1, "total": "8.80", "sent_at": "10:10"}`,
	} {
		f, _ := fingerprint(&headrace.Delivery{Payload: []byte(payload)})
		fmt.Println(f)
	}
	// Output:
	// 404018eef6b4aec528b647315b731dda
	// 404018eef6b4aec528b647315b731dda
	// c3121a38e04c15bd956fc1a6ea1a4b4c
}

func ExampleResolve() {
	_, err := inbox.Resolve(inbox.JSON("order.id"), &headrace.Delivery{Payload: []byte(`{"order": {"id": null}}`)})
	fmt.Println(errors.Is(err, inbox.ErrAbsent), err)
	// Output:
	// true absent: JSON member "order.id" is null
}
