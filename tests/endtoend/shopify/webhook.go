package shopify

import (
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
)

// PrintableID makes the id of any webhook fit a text column: NUL and bytes that are no UTF-8
// are escaped, and what is longer than a key may be is cut. headrace's tables keep ids like
// this too.
func PrintableID(id string) string { return encode.Text(id, 2*inbox.MaxKeyBytes-24) }
