package shopify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"strconv"
	"strings"
)

// Order is what an orders/paid webhook of Shopify carries, the Order resource, as far as an invoice needs it.
// Money stays the decimal text that it came as.
type Order struct {
	ID              int64             `json:"id"`
	Name            string            `json:"name"` // what the shop calls it, "#1001"
	Email           string            `json:"email"`
	Currency        string            `json:"currency"`
	TotalPrice      string            `json:"total_price"`
	FinancialStatus string            `json:"financial_status"`
	LineItems       []json.RawMessage `json:"line_items"` // counted, not read
	Customer        json.RawMessage   `json:"customer"`   // not read
	CreatedAt       string            `json:"created_at"`
	UpdatedAt       string            `json:"updated_at"`

	// unfit says why a JSON value is no order; nil if it is one.
	unfit error
}

// ErrNotOrder matches the reasons why a JSON value is no order.
var ErrNotOrder = errors.New("not a Shopify order")

// UnmarshalJSON reads any JSON value. One that is no order is not an error here: the reason is kept for
// InvoiceOf, so that another system's webhook is refused in the words of this shop and not of a JSON parser.
//
// Names are compared as they are written, and of a name that occurs twice the last counts, as for package inbox:
// the key must be read from the same place as the invoice.
func (o *Order) UnmarshalJSON(data []byte) error {
	*o = Order{}
	fields, err := Members(data)
	if err != nil {
		o.unfit = fmt.Errorf("%w: %w", ErrNotOrder, err)
		return nil
	}
	if _, ok := fields["financial_status"]; !ok {
		o.unfit = fmt.Errorf("%w: it has no financial_status", ErrNotOrder)
		return nil
	}
	for _, f := range []struct {
		name string
		want string
		into any
	}{
		{"id", "an integer", &o.ID},
		{"name", "a string", &o.Name},
		{"email", "a string", &o.Email},
		{"currency", "a string", &o.Currency},
		{"total_price", "a decimal number in a string (money is never a float)", &o.TotalPrice},
		{"financial_status", "a string", &o.FinancialStatus},
		{"line_items", "a list of items", &o.LineItems},
		{"customer", "a value", &o.Customer},
		{"created_at", "a string", &o.CreatedAt},
		{"updated_at", "a string", &o.UpdatedAt},
	} {
		if raw, ok := fields[f.name]; ok && json.Unmarshal(raw, f.into) != nil {
			o.unfit = fmt.Errorf("%w: its %s is not %s", ErrNotOrder, f.name, f.want)
			return nil
		}
	}
	return nil
}

// Members returns the members of a JSON object as they are written. Its errors show nothing of their values.
func Members(data []byte) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	broken := func() (map[string]json.RawMessage, error) {
		return nil, fmt.Errorf("it is broken JSON after byte %d", d.InputOffset())
	}
	open, err := d.Token()
	if err != nil {
		return broken()
	}
	if open != json.Delim('{') {
		return nil, fmt.Errorf("it is %s", Kind(data))
	}
	all := make(map[string]json.RawMessage)
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return broken()
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return broken()
		}
		all[name.(string)] = value
	}
	if _, err := d.Token(); err != nil {
		return broken()
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("it goes on after the JSON object, from byte %d", d.InputOffset())
	}
	return all, nil
}

// Kind names the kind of a JSON value for people.
func Kind(data []byte) string {
	switch data = bytes.TrimLeft(data, " \t\r\n"); {
	case len(data) == 0:
		return "empty"
	case data[0] == '[':
		return "a JSON list"
	case data[0] == '"':
		return "a JSON string"
	case data[0] == 't', data[0] == 'f':
		return "a JSON boolean"
	case data[0] == 'n':
		return "the JSON value null"
	case data[0] == '{':
		return "a JSON object"
	}
	return "a JSON number"
}

// ShopHeader says which shop a webhook comes from.
const ShopHeader = "X-Shopify-Shop-Domain"

// LineHeader says why a line of the input is no webhook; its bytes are then the payload.
const LineHeader = "X-Line-Error"

// Invoice is what a paid order becomes: one row, and one confirmation.
type Invoice struct {
	Shop       string
	OrderID    int64
	OrderName  string
	Email      string
	Currency   string
	TotalMinor int64 // in the currency's smallest unit
	Lines      int
}

// InvoiceOf judges an order and the headers it came with. Its errors are for good: no retry mends them.
func InvoiceOf(o Order, headers map[string]string) (Invoice, error) {
	if reason := headers[LineHeader]; reason != "" {
		return Invoice{}, errors.New(reason)
	}
	if o.unfit != nil {
		return Invoice{}, o.unfit
	}
	switch o.FinancialStatus {
	case "paid":
	case "pending", "authorized", "partially_paid", "partially_refunded", "refunded", "voided", "expired":
		return Invoice{}, fmt.Errorf("the order is not paid: its financial_status is %s", o.FinancialStatus)
	default:
		return Invoice{}, fmt.Errorf("%w: its financial_status is none of Shopify's", ErrNotOrder)
	}
	if o.ID <= 0 {
		return Invoice{}, fmt.Errorf("%w: it has no id above 0", ErrNotOrder)
	}
	total, err := MinorUnits(o.TotalPrice, o.Currency)
	if err != nil {
		return Invoice{}, fmt.Errorf("total_price: %w", err)
	}
	inv := Invoice{header(headers, ShopHeader), o.ID, o.Name, o.Email, o.Currency, total, len(o.LineItems)}
	if strings.ContainsRune(inv.Shop+inv.OrderName+inv.Email, 0) {
		return Invoice{}, errors.New("the shop, the name or the email holds a NUL character")
	}
	return inv, nil
}

// header finds a header as package inbox does: the name as it is written, else in other letter case.
func header(headers map[string]string, name string) string {
	if value, ok := headers[name]; ok {
		return value
	}
	found, value := "", ""
	for n, v := range headers {
		if textproto.CanonicalMIMEHeaderKey(n) == name && (found == "" || n < found) {
			found, value = n, v
		}
	}
	return value
}

// Fact writes what an invoice says in one line; sql/figures.sql writes the same from the columns of a row.
func (i Invoice) Fact() string {
	return strings.Join([]string{
		strconv.FormatInt(i.OrderID, 10), i.OrderName, i.Email, i.Currency, strconv.FormatInt(i.TotalMinor, 10), strconv.Itoa(i.Lines),
	}, "|")
}
