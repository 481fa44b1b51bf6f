// Command nightly reconciles with a source of truth: a shop tells of its orders by webhooks,
// and drops some, is not heard while the consumer's process is killed, and repeats some
// hours later. Each night the consumer compares its inbox with the shop's books, and starts
// what is missing. Nights are pressed into seconds, and each is a schedule of its own, since a
// person may ask for a tick once a minute.
//
//	go run ./examples/nightly
//
// The shop's process, which is this one, has the books. Its child is the consumer: it is
// killed while webhooks come, and again while it compares. In the second night the shop has
// told of no order at all: that is more than a job may start without a person, who looks and
// lets it go on, as "headrace steps resolve" does.
//
// At the end a table says, by the books, which orders were booked once, twice and never. The
// program exits with 1 if an order was booked twice or lost.
package main
