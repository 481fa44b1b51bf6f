// Command sqs is the consumer of examples/orders over SQS: a gateway sends a shop's
// webhooks to a queue, workers write invoices, confirmations go to another queue, and a
// query at the end says that none was lost and none was invoiced twice.
//
// # Nouns
//
// The gateway is what a team has in front already, here the AWS SDK alone, which knows
// nothing of headrace. Workers share one queue. The clerk reads the confirmations.
//
// # Rules
//
// The queues are FIFO: webhooks of one customer have the customer as their message group,
// and are handled in order.
//
// # Caveats
//
// The server is ElasticMQ, which forgets its queues when it ends. SQS takes text only: a
// body that is none is sent in base64, and headers that are none in JSON, with the
// attributes that broker/sqs knows them by.
package main
