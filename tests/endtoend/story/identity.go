package story

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
)

// orderKeyHeader carries a webhook's order key to the consumer.
const orderKeyHeader = "X-Order-Key"

// keyOf is the intent: shop:order:id:paid, because a shop sends the same fact again under another webhook id.
// The last part is the status as the body has it, so that an order that comes unpaid first does not take the
// key of the paid one. Where a part is missing the message's own id is the key. A broken line has none: its
// dead letter shows what is wrong with the line.
func keyOf() inbox.KeyFunc {
	intent := inbox.First(
		inbox.Join(inbox.Header(shopHeader), inbox.Literal("order"), inbox.JSON("id"), inbox.JSON("financial_status")),
		inbox.MessageID(),
	)
	return func(d *headrace.Delivery) (string, error) {
		if reason := d.Metadata[lineHeader]; reason != "" {
			return "", fmt.Errorf("%w: %s", inbox.ErrMalformed, reason)
		}
		return intent(d)
	}
}

// fingerprintOf covers the fields that an invoice depends on; updated_at is none of them.
func fingerprintOf() inbox.FingerprintFunc {
	return inbox.Fields("id", "name", "email", "currency", "total_price", "financial_status", "line_items")
}

// orderKeyOf is what the sender said must stay in order.
func orderKeyOf(d *headrace.Delivery) string { return d.Metadata[orderKeyHeader] }

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
	return identifier{key: keyOf(), fingerprint: fingerprintOf(), payload: inbox.Payload()}
}

// identify is given the webhook by the journal, and what the tables kept of it by the figures: both must come to
// the same. Tables keep the payload and the headers byte for byte, but the message's id and its coordinates only as
// text, so where those two tell messages apart they count in that form.
//
// Over a broker the message's id is in a header.
func (i identifier) identify(d *headrace.Delivery) identity {
	if id := d.Metadata[idHeader]; id != "" {
		whole := *d
		whole.ID = id
		d = &whole
	}
	var o order
	if json.Unmarshal(d.Payload, &o) == nil {
		if inv, err := invoiceOf(o, d.Metadata); err == nil {
			if inv.Shop != "" {
				return identity{inv.Shop + ":order:" + strconv.FormatInt(inv.OrderID, 10) + ":paid", inv.fact()}
			}
			if d.ID != "" {
				return identity{"id:" + printable(d.ID), inv.fact()}
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
		return identity{"unread:" + digest(printable(d.ID)), print}
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

// printable makes any id fit a text column: NUL and bytes that are no UTF-8 are escaped, and what is longer than
// a key may be is cut. headrace's tables keep ids like this too, so identities are made of it.
func printable(id string) string { return encode.Text(id, 2*inbox.MaxKeyBytes-24) }
