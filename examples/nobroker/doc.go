// Command nobroker runs two consumers in one process that talk through the database
// alone: requests become orders, orders become invoices, and there is no broker.
//
// # Nouns
//
// A request is what the program asks for, in one transaction with an event. The consumer
// "orders" makes an order of it and publishes another event; the consumer "billing" makes
// an invoice of that. The figures are what a query over the three tables finds.
//
// # Rules
//
// Each consumer subscribes to the topics of its local handlers. An event that the program
// publishes is local: there is no broker that it could go to. The tables of orders and invoices have no unique index, so that an effect that
// was applied twice would show.
//
// # Caveats
//
// All of it goes through one database: it is as fast and as available as that.
package main
