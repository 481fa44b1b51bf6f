package brokertest

import "testing"

// bundle is what a scenario works with.
type bundle struct {
	*testing.T
	b Broker
}

func newBundle(t *testing.T, b Broker) *bundle { return &bundle{T: t, b: b} }
