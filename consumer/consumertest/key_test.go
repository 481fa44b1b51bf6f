package consumertest_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer/consumertest"
	"github.com/headrace/headrace/inbox"
)

// fromShop has a header and a payload in which everything occurs that JSON may escape.
var fromShop = consumertest.Message{
	Topic: topic, ID: "w1", Metadata: map[string]string{"X-Shop": "mill.example"},
	Payload: []byte(`{"id":10492,"note":"caf\u00e9 \"quoted\" 🌾 </a>","lines":[{"sku":"FL-1","n":1.50},null,true,[]],"z":{}}`),
}

// Right functions of package inbox bear every change.
func TestStableKeys(t *testing.T) {
	shop := inbox.Header("x-shop")
	for _, key := range []inbox.KeyFunc{
		inbox.JSON("id"), inbox.JSON("note"), inbox.JSON("lines.0.n"), shop, inbox.PayloadHash(),
		inbox.Join(shop, inbox.Literal("order"), inbox.JSON("id")), inbox.First(inbox.Header("none"), inbox.JSON("id")),
	} {
		consumertest.StableKey(t, key, fromShop)
	}
	consumertest.StableFingerprint(t, inbox.Payload(), fromShop)
	consumertest.StableFingerprint(t, inbox.Fields("id", "lines"), fromShop)
	consumertest.StableKey(t, inbox.MessageID(), fromShop, consumertest.Resent)
	bytes := consumertest.Message{Topic: topic, ID: "w", Payload: []byte{0, 0xff}}
	consumertest.StableKey(t, inbox.PayloadHash(), bytes)
	half := consumertest.Message{Topic: topic, ID: "w", Payload: []byte(`{"id":"\ud800"}`)}
	consumertest.StableFingerprint(t, inbox.Payload(), half)
}

// Each change finds the function that does not bear it.
func TestUnstableKeys(t *testing.T) {
	for change, key := range map[consumertest.Change]inbox.KeyFunc{
		consumertest.Redelivered:  func(d *headrace.Delivery) (string, error) { return d.ReceivedAt.Truncate(time.Hour).String(), nil },
		consumertest.Resent:       inbox.MessageID(),
		consumertest.MoreHeaders:  func(d *headrace.Delivery) (string, error) { return fmt.Sprint(len(d.Metadata)), nil },
		consumertest.HeaderCase:   func(d *headrace.Delivery) (string, error) { return d.Metadata["X-Shop"], nil },
		consumertest.Reserialised: func(d *headrace.Delivery) (string, error) { return string(d.Payload), nil },
		"changes the delivery":    func(d *headrace.Delivery) (string, error) { d.Metadata["seen"] = "yes"; return "key", nil },
		"panicked":                func(*headrace.Delivery) (string, error) { panic("no shop") },
		"cannot be had":           func(*headrace.Delivery) (string, error) { return "", nil },
	} {
		says(t, failure(func(t testing.TB) { consumertest.StableKey(t, key, fromShop) }), string(change))
	}
	says(t, failure(func(t testing.TB) { consumertest.StableKey(t, inbox.Position(), fromShop) }), string(consumertest.Resent))
	says(t, failure(func(t testing.TB) {
		consumertest.StableFingerprint(t, func(d *headrace.Delivery) (string, error) { return string(d.Payload), nil }, fromShop)
	}), "the fingerprint is not stable: "+string(consumertest.Reserialised))
	var calls atomic.Int64
	says(t, failure(func(t testing.TB) {
		consumertest.StableKey(t, func(*headrace.Delivery) (string, error) { return fmt.Sprint(calls.Add(1) / 8), nil }, fromShop)
	}), "called from several goroutines") // the first, five changes, all together: 7 calls
	var more atomic.Int64
	says(t, failure(func(t testing.TB) {
		consumertest.StableKey(t, func(*headrace.Delivery) (string, error) { return fmt.Sprint(more.Add(1) / 100), nil }, fromShop)
	}), "times in a row")
	says(t, failure(func(t testing.TB) { consumertest.DistinctKeys(t, inbox.Header("none"), fromShop) }), "no key for")
}
