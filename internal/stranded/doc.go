// Package stranded logs events that go nowhere, as far as the database knows: local ones
// without a subscription to their topic, and others in an outbox without a publisher.
package stranded
