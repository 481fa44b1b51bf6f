// Command orders turns a shop's paid orders into invoices and confirmation messages, and proves at the end that
// none was lost and none was invoiced twice.
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
// The code lies in examples/internal/story, because the examples over brokers tell the
// same story.
package main
