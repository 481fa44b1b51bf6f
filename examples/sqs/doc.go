// Command sqs is the consumer of examples/orders over SQS: it reads orders from
// a queue, writes an invoice for each, once, and publishes an event for each invoice to
// another one.
//
// # Rules
//
// The queues are standard ones, without an order. For FIFO queues give Queue in the options
// of source and sink, with names that end in .fifo; the order key of an event becomes its
// message group.
package main
