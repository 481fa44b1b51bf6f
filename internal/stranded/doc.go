// Package stranded logs events that go nowhere, as far as the database knows: local ones
// without a subscription to their topic.
package stranded
