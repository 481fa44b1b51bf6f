package headrace_test

import (
	"testing"

	"github.com/headrace/headrace"
)

// The format is fixed for good: other systems know the keys. Every part counts, and no
// part runs into the next.
//
//evidence:idempotency-key
func TestIdempotencyKey(t *testing.T) {
	const database = "4f5d1f5e-7a52-4d3b-9c39-0a7c1be7c1a2"
	seen := make(map[string]bool)
	for _, c := range []struct{ database, scope, key, want string }{
		{database, "billing/orders.paid", "order:1", "f70175b2-7138-8430-9567-c5be598db5de"},
		{database, "billing/orders.paid", "order:2", "2be19f25-0694-8f10-8241-53cd31022040"},
		{database, "billing/orders.sent", "order:1", "2c32e6f4-3f11-8ed5-bbe2-5079a35d95f8"},
		{database, "shipping/orders.paid", "order:1", "6b7daf08-be36-8b55-924b-ad3fff76f410"},
		{"8d3a0a52b5b04f0c8f0e2b9f6d1c7e11", "billing/orders.paid", "order:1", "7bca47a9-f0dc-87a4-aa97-13f313bc404b"},
		{database, "a", "bc", "16eb7d9e-de2d-8ed2-ace6-5d494114548e"},
		{database, "ab", "c", "b3a6ae82-a2d1-800f-8b7c-303e2afeb942"},
		{"", "", "Bücher\x00", "f1cd9650-8945-858e-910e-cdbbac422fa1"},
	} {
		m := &headrace.Message[int]{Delivery: headrace.Delivery{Database: c.database, Scope: c.scope, Key: c.key, Attempt: 7, ID: "any"}}
		got := m.IdempotencyKey()
		if got != c.want || seen[got] {
			t.Errorf("%q %q %q: %s, want %s; known: %t", c.database, c.scope, c.key, got, c.want, seen[got])
		}
		seen[got] = true
	}
}
