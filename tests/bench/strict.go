package main

import (
	"fmt"
	"hash/fnv"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
)

// customers is how many order keys there are: many more than messages in one transaction.
const customers = 1000

// strictPart measures what strict order costs, beside a handler that has the same
// messages with the same order keys live.
func strictPart(d driver) []benchmark {
	live := work{driver: d, inFlight: 256, window: 10_000, configure: ordered(false)}
	strict := live
	strict.configure = ordered(true)
	intake := strict
	intake.options = []consumer.Option{consumer.Intake()}
	says := fmt.Sprintf("headrace: as live, with %d order keys", customers)
	part := []benchmark{
		{name: "live_keys", says: says, run: live.run},
		{name: "strict", says: says + ", in strict order", run: strict.run},
		{name: "strict_intake", says: says + ", in strict order, through the backlog (Intake)", run: intake.run},
	}
	for i := range part {
		if part[i].part = "strict"; i > 0 {
			part[i].against, part[i].labels, part[i].with = []string{"live_keys"}, []string{"live"}, []string{"live_keys"}
		}
	}
	return d.named(part)
}

// ordered gives each message one of so many order keys.
func ordered(strict bool) func(*consumer.Config) {
	return func(c *consumer.Config) {
		c.Strict = strict
		c.OrderKey = func(d *headrace.Delivery) string {
			h := fnv.New32a()
			_, _ = h.Write([]byte(d.ID))
			return fmt.Sprint("customer ", h.Sum32()%customers)
		}
	}
}
