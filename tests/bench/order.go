package main

import (
	"encoding/hex"
	"strconv"

	"github.com/ThreeDotsLabs/watermill/message"
)

// order is the body of every message.
type order struct {
	ID         string `json:"id"`
	Number     int64  `json:"number"`
	Email      string `json:"email"`
	Currency   string `json:"currency"`
	TotalCents int64  `json:"total_cents"`
	Lines      []line `json:"lines"`
}

type line struct {
	SKU        string `json:"sku"`
	Quantity   int    `json:"quantity"`
	PriceCents int64  `json:"price_cents"`
}

// invoiced is the body of the event that each message leaves.
type invoiced struct {
	OrderID    string `json:"order_id"`
	Currency   string `json:"currency"`
	TotalCents int64  `json:"total_cents"`
}

func invoicedFor(o *order) invoiced {
	return invoiced{OrderID: o.ID, Currency: o.Currency, TotalCents: o.TotalCents}
}

// The topics: where orders come from, and where events go.
const (
	ordersTopic   = "orders_paid"
	invoicesTopic = "invoices_created"
)

// The parts of a payload of about 300 bytes.
const (
	payloadID    = `{"id":"`
	payloadTotal = `","email":"maria.lindqvist@customers.example","currency":"EUR","number":`
	payloadLines = `,"lines":[{"sku":"TSHIRT-ORGANIC-BLACK-M","quantity":2,"price_cents":2495},` +
		`{"sku":"MUG-ENAMEL-WHITE-350","quantity":1,"price_cents":1490}],"total_cents":`
)

// firstNumber is the order number of message 0: all numbers have as many digits.
const firstNumber = 100_000_000

// newMessage returns the n-th message. Two n never give the same id, and ids stand
// in no order, as random ones do not.
func newMessage(n uint64) *message.Message {
	id := uuid(n)
	p := make([]byte, 0, 320)
	p = append(p, payloadID...)
	p = append(p, id...)
	p = append(p, payloadTotal...)
	p = strconv.AppendUint(p, firstNumber+n, 10)
	p = append(p, payloadLines...)
	p = strconv.AppendUint(p, 6480+n%1000, 10)
	p = append(p, '}')
	return message.NewMessage(id, p)
}

// uuid scrambles n into the text of a UUID. Each half is a permutation of n.
func uuid(n uint64) string {
	var raw [16]byte
	high, low := scramble(n), scramble(^n)
	for i := range 8 {
		raw[i], raw[8+i] = byte(high>>(8*i)), byte(low>>(8*i))
	}
	var text [36]byte
	hex.Encode(text[0:8], raw[0:4])
	hex.Encode(text[9:13], raw[4:6])
	hex.Encode(text[14:18], raw[6:8])
	hex.Encode(text[19:23], raw[8:10])
	hex.Encode(text[24:36], raw[10:16])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return string(text[:])
}

// scramble is the finalizer of splitmix64, which maps no two numbers to one.
func scramble(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}
