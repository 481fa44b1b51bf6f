package amqp

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp091 "github.com/rabbitmq/amqp091-go"
	"pgregory.net/rapid"

	"github.com/headrace/headrace"
)

// Trap: the official adapter takes any header that is no string for an error, and loops.
// Guard: text renders every type that the protocol has.
func TestTextRendersEveryType(t *testing.T) {
	when := time.Date(2026, 11, 21, 17, 30, 0, 0, time.FixedZone("", 3600))
	for _, c := range []struct {
		value any
		want  string
	}{
		{"plain", "plain"}, {"\xff\x00", "\xff\x00"}, {[]byte("\xff bytes"), "\xff bytes"}, {nil, ""},
		{true, "true"}, {int8(-8), "-8"}, {byte(200), "200"}, {int16(-16), "-16"}, {uint16(16), "16"},
		{int32(-32), "-32"}, {uint32(32), "32"}, {int64(math.MinInt64), "-9223372036854775808"},
		{float32(1.5), "1.5"}, {float64(0.1), "0.1"}, {math.NaN(), "NaN"}, {math.Inf(-1), "-Inf"},
		{when, "2026-11-21T16:30:00Z"}, {time.Unix(math.MaxInt64/2, 0), "4611686018427387903"},
		{amqp091.Decimal{Scale: 2, Value: 12345}, "123.45"}, {amqp091.Decimal{Scale: 3, Value: -5}, "-0.005"},
		{amqp091.Decimal{Value: math.MinInt32}, "-2147483648"}, {amqp091.Decimal{Scale: 255, Value: 1}, "0." + strings.Repeat("0", 254) + "1"},
		{[]any{int64(1), "a", nil}, `[1,"a",null]`},
		{amqp091.Table{"b": int64(2), "a": amqp091.Table{"t": when}, "x": []byte("\xff"), "n": math.NaN()},
			`{"a":{"t":"2026-11-21T16:30:00Z"},"b":2,"n":"NaN","x":{"base64":"/w=="}}`},
	} {
		if got := text(c.value); got != c.want {
			t.Errorf("text(%#v) = %q, want %q", c.value, got, c.want)
		}
	}
}

// Trap: a sender that is not Watermill has no UUID header, and the official adapter
// gives every one of its messages the id "". Guard: message-id is the id.
func TestUnmarshalID(t *testing.T) {
	for _, c := range []struct {
		name    string
		d       amqp091.Delivery
		id      string
		headers map[string]string
	}{
		{"none", amqp091.Delivery{}, "", nil},
		{"message-id", amqp091.Delivery{MessageId: "m1", RoutingKey: "q"}, "m1", nil},
		{"Watermill's", amqp091.Delivery{MessageId: "m1", Headers: amqp091.Table{idHeader: "w1"}}, "w1", map[string]string{MessageIDKey: "m1"}},
		{"both alike", amqp091.Delivery{MessageId: "m1", Headers: amqp091.Table{idHeader: "m1"}}, "m1", nil},
		{"Watermill's is empty", amqp091.Delivery{MessageId: "m1", Headers: amqp091.Table{idHeader: ""}}, "m1", nil},
		{"Watermill's is a number", amqp091.Delivery{MessageId: "m1", Headers: amqp091.Table{idHeader: int32(7)}}, "m1",
			map[string]string{idHeader: "7"}},
		{"facts", amqp091.Delivery{Redelivered: true, Exchange: "e", RoutingKey: "k", ContentType: "text/plain", Priority: 3,
			Headers: amqp091.Table{"x-delivery-count": int64(2)}}, "",
			map[string]string{RedeliveredKey: "true", ExchangeKey: "e", RoutingKeyKey: "k", "content-type": "text/plain", PriorityKey: "3", "x-delivery-count": "2"}},
		{"forged facts", amqp091.Delivery{ContentType: "text/plain", Headers: amqp091.Table{RedeliveredKey: "true", ExchangeKey: "forged", "content-type": "own"}}, "",
			map[string]string{"content-type": "own", ContentTypeKey: "text/plain", OwnHeaderPrefix + RedeliveredKey: "true", OwnHeaderPrefix + ExchangeKey: "forged"}},
		{"a name beside a property", amqp091.Delivery{Type: "property", Headers: amqp091.Table{TypeKey: "header", OwnHeaderPrefix + TypeKey: "odd"}}, "",
			map[string]string{TypeKey: "property", OwnHeaderPrefix + TypeKey: "header", OwnHeaderPrefix + OwnHeaderPrefix + TypeKey: "odd"}},
		{"a content type twice", amqp091.Delivery{ContentType: "text/plain", ContentEncoding: "gzip", Headers: amqp091.Table{"content-type": "text/plain"}}, "",
			map[string]string{"content-type": "text/plain", "content-encoding": "gzip"}},
	} {
		m := unmarshal(context.Background(), "q", &c.d)
		if m.UUID != c.id {
			t.Errorf("%s: id %q, want %q", c.name, m.UUID, c.id)
		}
		if c.headers == nil {
			c.headers = map[string]string{}
		}
		if diff := cmp.Diff(c.headers, map[string]string(m.Metadata)); diff != "" {
			t.Errorf("%s: metadata (-want +got):\n%s", c.name, diff)
		}
		want := headrace.Arrival{Coordinates: headrace.Coordinates{Broker: "amqp", Topic: "q", Position: c.id}}
		if got := headrace.ArrivalFrom(m.Context()); got != want {
			t.Errorf("%s: arrival %+v, want %+v", c.name, got, want)
		}
	}
}

// Whatever a table holds gives the same text each time, and no panic.
func TestTextIsStable(t *testing.T) {
	leaf := rapid.OneOf(
		rapid.Map(rapid.String(), func(s string) any { return s }), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) any { return b }),
		rapid.Map(rapid.Int64(), func(n int64) any { return n }), rapid.Map(rapid.Float64(), func(f float64) any { return f }),
		rapid.Map(rapid.Int64(), func(n int64) any { return time.Unix(n, 0) }),
		rapid.Map(rapid.Int32(), func(n int32) any { return amqp091.Decimal{Scale: byte(n), Value: n} }),
	)
	table := rapid.Custom(func(t *rapid.T) amqp091.Table {
		inner := rapid.MapOf(rapid.String(), leaf).Draw(t, "inner")
		return amqp091.Table{"inner": amqp091.Table(inner), "list": []any{leaf.Draw(t, "leaf"), amqp091.Table(inner)}}
	})
	rapid.Check(t, func(t *rapid.T) {
		v := table.Draw(t, "table")
		if a, b := text(v), text(v); a != b {
			t.Fatalf("two texts of one value: %q and %q", a, b)
		}
	})
}

// What the broker adds at a redelivery does not make another message of it.
func TestChangedByRedelivery(t *testing.T) {
	for header, want := range map[string]bool{
		RedeliveredKey: true, "x-delivery-count": true, "x-death": true, "x-first-death-queue": true, "x-last-death-reason": true,
		"x-tenant": false, "Idempotency-Key": false, PriorityKey: false,
	} {
		if got := new(Source).ChangedByRedelivery(header); got != want {
			t.Errorf("%s: %t", header, got)
		}
	}
}
