package sqlstore

import (
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
)

// Rows without an order key share a shard, but for those of slow handlers, which take turns.
func TestRowsOfSlowHandlersAreSpread(t *testing.T) {
	shards := func(spread bool) map[int64]bool {
		seen := make(map[int64]bool)
		items := make([]backlog.Item, 32)
		for i := range items {
			items[i] = backlog.Item{Spread: spread, Delivery: headrace.Delivery{Key: "k"}}
		}
		for _, n := range itemColumns(items)[1].([]int64) {
			seen[n] = true
		}
		return seen
	}
	if n := len(shards(false)); n != 1 {
		t.Errorf("rows that were written together are in %d shards", n)
	}
	if n := len(shards(true)); n != 32 {
		t.Errorf("32 rows of a slow handler are in %d shards", n)
	}
}
