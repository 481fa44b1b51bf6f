// Command orders is a whole consumer: a shop's paid orders become invoices and confirmation
// messages while messages repeat, handlers fail and the process is killed. At the end a query
// proves that none was lost and none was invoiced twice.
//
//	go run ./examples/orders                    # SQLite, and a source within the process
//	go run ./examples/orders -dsn postgres://…  # PostgreSQL
//	go run ./examples/kafka -workers 4          # over a broker: kafka, rabbitmq, sqs
//
// # Nouns
//
// A webhook is what the shop sends, an order is what it says, an invoice is what it becomes. The consumer is
// here and in package billing. The rest is package story: its stream of webhooks is a generator, or lines of a
// file; its source hands them to the consumer as a broker would, at least once, also after a crash. The
// journal is the source's own log of everything handed out and of everything published, apart from
// headrace's tables. The figures are what a query over the journal and the tables finds.
//
// # Rules
//
// A webhook is in the journal, committed, before the consumer sees it. The figures never come from counters
// of the process. The table invoices has no unique index, so an effect applied twice would show. The exit status
// is 1 if a message is lost or an order was applied twice.
//
// # Caveats
//
// With SQLite the journal is a file beside the database, FILE.source. It belongs to the database: without it
// the figures cover only what was handed out since.
package main
