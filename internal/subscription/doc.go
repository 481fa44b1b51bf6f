// Package subscription contains the subscriptions of a consumer: their states, whether
// their brokers serve them, and the way of deliveries into the consumer.
//
// # Nouns
//
// A [Set] has the subscriptions of one consumer. A [Subscription] is that of a handler to
// a topic. It is down while its source reports that the broker does not serve it.
//
// # Rules
//
// A broker that is away at the start is waited for, like one that goes away later. What a
// broker refuses is not waited for: only an error that matches [ErrUnavailable] is tried
// again.
//
// A subscription is down at once for Ready and the gauge. The log and an alert say so when
// it has lasted for two seconds, since a connection that is made again at once is no news.
package subscription
