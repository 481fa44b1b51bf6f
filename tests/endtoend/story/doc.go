// Package story is the end-to-end test of a consumer: a shop's paid orders become invoices
// and confirmation messages, once each, and a query at the end says so.
//
// # Nouns
//
// A webhook is what the shop sends, an order is what it says, an invoice is what it
// becomes. A [Program] is what is tested, and a [World] what it runs in. [Main] is
// examples/orders: its source hands webhooks to the consumer as a broker would.
// [OverBroker] is examples/kafka and others: there a gateway sends the webhooks of the source to a [Broker],
// workers consume them, and a clerk reads the confirmations.
//
// The journal is the log of everything that the source handed out (to the consumer, or to
// the broker) and of every confirmation that came, apart from headrace's tables. The
// figures are what a query over the journal and the tables finds.
//
// # Rules
//
// A webhook is in the journal, committed, before it is handed out, and what was not
// acknowledged is handed out again, also by the next run. Figures never come from
// counters of the process. The table invoices has no unique index, so an effect applied
// twice would show.
//
// # Caveats
//
// With SQLite the journal is a file beside the database, FILE.source. It belongs to the
// database: without it the figures cover only what was handed out since.
package story
