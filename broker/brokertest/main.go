package brokertest

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"

	"go.uber.org/goleak"
)

// childVariable holds the orders of a process that consumes until it is killed.
const childVariable = "HEADRACE_BROKERTEST_CHILD"

// Main runs the tests of m, or, in a child, the child's orders. It does not return.
// Goroutines that are left at the end fail the tests. ignore names goroutines of a client
// library that cannot be waited for; give the reason beside each.
func Main(m goleak.TestingM, b Broker, ignore ...goleak.Option) {
	if orders := os.Getenv(childVariable); orders != "" {
		if err := child(b, orders); err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// The tests of the databases wait more than they work, and run six at a time. These keep a server
	// and its timeouts busy.
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(runtime.GOMAXPROCS(0))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// A proxy that resets connections may leave goroutines that send and have no
	// receiver.
	ignore = append(ignore,
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*ToxicStub).Run"),
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2.(*ToxicLink).read"))
	goleak.VerifyTestMain(m, ignore...)
}

// Run runs every scenario against b, one after the other.
func Run(t *testing.T, b Broker) {
	t.Helper()
	f := b.Features()
	if f.Name == "" || f.Redelivery <= 0 || len(f.Hostile) == 0 {
		t.Fatalf("Features need Name, Redelivery and Hostile: %+v", f)
	}
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			if s.unless != nil {
				if reason := s.unless(f); reason != "" {
					t.Logf("does not apply to %s: %s", f.Name, reason)
					return
				}
			}
			s.run(newBundle(t, b))
		})
	}
}

// scenario is one subtest. unless returns why it does not apply, or "".
type scenario struct {
	name   string
	unless func(Features) string
	run    func(*bundle)
}
