package story

import (
	"strings"
	"testing"
)

// What is said after a Ctrl-C is true: whether there is something to go on from.
func TestAfterInterrupt(t *testing.T) {
	kept := options{db: "orders.db"}
	for _, tc := range []struct{ says, want string }{
		{brokerOptions{}.afterInterrupt(false), "nothing is kept"},
		{brokerOptions{}.afterInterrupt(true), "nothing is kept"},
		{brokerOptions{options: kept}.afterInterrupt(true), "what it held is gone"},
		{brokerOptions{options: kept}.afterInterrupt(false), "what the broker still holds"},
		{brokerOptions{options: options{dsn: "x"}}.afterInterrupt(false), "what the broker still holds"},
		{options{}.afterInterrupt(), "nothing is kept"},
		{kept.afterInterrupt(), "goes on"},
	} {
		if !strings.Contains(tc.says, tc.want) {
			t.Errorf("%q, want %q", tc.says, tc.want)
		}
	}
}
