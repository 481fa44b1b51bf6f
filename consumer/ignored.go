package consumer

import (
	"cmp"
	"maps"
	"slices"

	"github.com/headrace/headrace/internal/unused"
	"github.com/headrace/headrace/retry"
)

// set says which options the program has set.
func (c Config) set() unused.Options {
	_, lost := c.Retry.Overrides[retry.Lost]
	return unused.Options{
		Source: c.Source != nil, Sink: c.Sink != nil, NackPause: c.NackPause != 0, MaxInFlight: c.MaxInFlight != 0, MaxBatch: c.MaxBatch != 0, BatchTime: c.BatchTime != 0,
		Key: c.Key != nil, SameWhen: c.SameWhen != nil, OrderKey: c.OrderKey != nil, DeadLetterTopic: c.DeadLetterTopic != nil, Lost: lost, Rehearsable: c.Rehearsable, Systems: slices.Sorted(maps.Keys(c.Systems)), Relay: c.Relay, Drain: cmp.Or(c.DrainTimeout, defaultDrain),
	}
}
