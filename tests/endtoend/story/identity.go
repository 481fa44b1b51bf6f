package story

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/examples/orders/billing"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/tests/endtoend/shopify"
)

// identity is which message a delivery is, and what it says, for the figures.
type identity struct{ Intent, Fact string }

// identifier tells messages apart. For paid orders it knows nothing of package inbox: it reads the bytes and
// writes in its own words what sql/figures.sql makes of the columns of an invoice, so that a key function that
// let two orders fall together would show as one lost. What becomes no invoice is told apart by inbox's
// functions, hashed.
type identifier struct {
	key         inbox.KeyFunc
	fingerprint inbox.FingerprintFunc
	payload     inbox.FingerprintFunc
}

func newIdentifier() identifier {
	return identifier{key: billing.Key(), fingerprint: billing.SameWhen(), payload: inbox.Payload()}
}

// identify is given the webhook by the journal, and what the tables kept of it by the figures: both must come to
// the same. Tables keep the payload and the headers byte for byte, but the message's id and its coordinates only as
// text, so where those two tell messages apart they count in that form.
//
// Over a broker the message's id is in a header.
func (i identifier) identify(d *headrace.Delivery) identity {
	d = billing.Webhook(d)
	var o shopify.Order
	if json.Unmarshal(d.Payload, &o) == nil {
		if inv, err := shopify.InvoiceOf(o, d.Metadata); err == nil {
			if inv.Shop != "" {
				return identity{inv.Shop + ":order:" + strconv.FormatInt(inv.OrderID, 10) + ":paid", inv.Fact()}
			}
			if d.ID != "" {
				return identity{"id:" + shopify.PrintableID(d.ID), inv.Fact()}
			}
		}
	}
	key, err := inbox.Resolve(i.key, d)
	// Under a stand-in key the message had no key when it came; a key that it has now is made of the text that
	// stands for an id which is none.
	if err == nil && !inbox.IsStandIn(d.Key) {
		if print, err := i.fingerprint(d); err == nil {
			return identity{"key:" + digest(key), print}
		}
	}
	print, _ := i.payload(d) // never fails
	if d.ID != "" {
		return identity{"unread:" + digest(shopify.PrintableID(d.ID)), print}
	}
	return identity{"at:" + digest(legible(d.Coordinates).String()), print}
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}

// legible is coordinates as JSON holds them: a file's name may have bytes that are no UTF-8.
func legible(c headrace.Coordinates) headrace.Coordinates {
	for _, part := range []*string{&c.Broker, &c.Topic, &c.Partition, &c.Position} {
		*part = string([]rune(*part))
	}
	return c
}
