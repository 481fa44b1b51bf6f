package shopify

import (
	"encoding/json"
	"strings"
	"testing"
)

const paid = `{"id":450789469,"name":"#1001","email":"bob@example.com","currency":"EUR","total_price":"199.90",` +
	`"financial_status":"paid","line_items":[{"id":1,"price":"199.90"}],"updated_at":"2026-01-01T10:00:00Z"}`

func TestInvoiceOf(t *testing.T) {
	var o Order
	if err := json.Unmarshal([]byte(paid), &o); err != nil {
		t.Fatal(err)
	}
	got, err := InvoiceOf(o, map[string]string{ShopHeader: "mill.example"})
	want := Invoice{"mill.example", 450789469, "#1001", "bob@example.com", "EUR", 19990, 1}
	if err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if fact := got.Fact(); fact != "450789469|#1001|bob@example.com|EUR|19990|1" {
		t.Errorf("fact %q", fact)
	}
}

// Each body is refused with a reason in the words of the shop; none is an error of the decoder, so that the
// dead letters say "permanent" and not "undecodable".
func TestInvoiceOfRefuses(t *testing.T) {
	with := func(name, value string) string {
		var o map[string]json.RawMessage
		if err := json.Unmarshal([]byte(paid), &o); err != nil {
			t.Fatal(err)
		}
		o[name] = json.RawMessage(value)
		b, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, tc := range []struct{ name, body, says string }{
		{"list", `[1,2]`, "it is a JSON list"},
		{"string", `"paid"`, "it is a JSON string"},
		{"number", `12`, "it is a JSON number"},
		{"boolean", `true`, "it is a JSON boolean"},
		{"null", `null`, "it is the JSON value null"},
		{"empty object", `{}`, "it has no financial_status"},
		{"another system", `{"id":"evt_1","object":"event","type":"invoice.paid"}`, "it has no financial_status"},
		{"other letters", `{"Financial_Status":"paid","ID":1}`, "it has no financial_status"},
		{"unpaid", with("financial_status", `"pending"`), "not paid: its financial_status is pending"},
		{"other status", with("financial_status", `"PAID"`), "none of Shopify's"},
		{"status as number", with("financial_status", `1`), "its financial_status is not a string"},
		{"total as number", with("total_price", `199.90`), "its total_price is not a decimal number in a string"},
		{"total missing", with("total_price", `null`), "total_price: not an amount of money: it is not written"},
		{"total negative", with("total_price", `"-1.00"`), "total_price: not an amount of money: it is negative"},
		{"no currency", with("currency", `"XBT"`), "not one of ISO 4217"},
		{"id as string", with("id", `"450789469"`), "its id is not an integer"},
		{"id as fraction", with("id", `1.5`), "its id is not an integer"},
		{"id too large", with("id", `12345678901234567890`), "its id is not an integer"},
		{"id 0", with("id", `0`), "it has no id above 0"},
		{"id missing", with("id", `null`), "it has no id above 0"},
		{"lines as text", with("line_items", `"two"`), "its line_items is not a list"},
		{"NUL", with("email", `"a\u0000b"`), "NUL"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var o Order
			if err := json.Unmarshal([]byte(tc.body), &o); err != nil {
				t.Fatalf("decode: %v", err)
			}
			got, err := InvoiceOf(o, map[string]string{ShopHeader: "mill.example"})
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %+v, %v, want an error that says %q", got, err, tc.says)
			}
		})
	}
}

// A gateway may write a header's name in other letters; an order without one has no shop, and is paid all the same.
func TestInvoiceOfShop(t *testing.T) {
	var o Order
	if err := json.Unmarshal([]byte(paid), &o); err != nil {
		t.Fatal(err)
	}
	for want, headers := range map[string]map[string]string{
		"a.example": {"x-shopify-shop-domain": "a.example"},
		"b.example": {"X-SHOPIFY-SHOP-DOMAIN": "b.example", "x-shopify-shop-domain": "c.example"},
		"":          {"Shop-Domain": "d.example"},
	} {
		if got, err := InvoiceOf(o, headers); err != nil || got.Shop != want {
			t.Errorf("headers %v: shop %q, %v, want %q", headers, got.Shop, err, want)
		}
	}
}

func TestMembers(t *testing.T) {
	for body, says := range map[string]string{
		``: "broken JSON after byte 0", `{`: "broken", `{"a":1`: "broken", `{"a":1]`: "broken", `{"a":tru}`: "broken",
		`{"a" 1}`: "broken", `{1:2}`: "broken", `{} {}`: "goes on", `{}x`: "goes on", ` [1]`: "a JSON list",
		`{"a":` + strings.Repeat("[", 20_000): "broken",
	} {
		if got, err := Members([]byte(body)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("Members(%.20q) = %v, %v, want an error that says %q", body, got, err, says)
		}
	}
	got, err := Members([]byte(` {"a": 1.50 , "b": {"c":[ ]}, "a": 2 } `))
	if err != nil || len(got) != 2 || string(got["a"]) != "2" || string(got["b"]) != `{"c":[ ]}` {
		t.Errorf("got %v, %v", got, err)
	}
}
