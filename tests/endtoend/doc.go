// Command endtoend tests a whole program: a shop's paid orders become invoices and
// confirmation messages while messages repeat, handlers fail and the process is killed. At
// the end a query proves that none was lost and none was invoiced twice.
//
//	go run ./tests/endtoend                    # SQLite, and a source within the process
//	go run ./tests/endtoend -dsn postgres://…  # PostgreSQL
//	go run ./tests/endtoend/kafka -workers 4   # over a broker: kafka, rabbitmq, sqs
//
// For programs to copy, see examples.
//
// # Nouns
//
// A webhook is what the shop sends, an order is what it says, an invoice is what it becomes. The stream is
// where webhooks come from: a generator, or lines of a file. The source hands them to the consumer as a broker
// would, at least once: it keeps what is not acknowledged and hands it out again, also after a crash. The
// journal is the source's own log of everything handed out and of everything published, apart from
// headrace's tables. The figures are what a query over the journal and the tables finds.
//
// # Rules
//
// A webhook is in the journal, committed, before the consumer sees it. The figures never come from counters
// of the process. The table invoices has no unique index, so an effect applied twice would show.
//
// # Caveats
//
// With SQLite the journal is a file beside the database, FILE.source. It belongs to the database: without it
// the figures cover only what was handed out since.
//
// The code is in package story, because the programs over brokers test the same.
package main
