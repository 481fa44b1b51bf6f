package storetest

import (
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/store/txn"
)

// filterCase is a filter, and the keys of the letters that it chooses.
type filterCase struct {
	name   string
	filter dlq.Filter
	want   []string
}

// plots writes letters that differ in one thing each, the first in the state that
// a discard leaves, and returns them by key.
func (b *bundle) plots() map[string]dlq.Letter {
	b.Helper()
	letters := graves("discarded", "plain", "consumer", "handler", "topic", "class", "print")
	letters[2].Consumer, letters[3].Handler, letters[4].Delivery.Topic = "shipping", "orders.lost", "refunds"
	letters[5].Class, letters[6].ErrorFingerprint = dlq.Undecodable, "print-2"
	byKey := make(map[string]dlq.Letter)
	for _, l := range letters {
		id := b.die(l)[0]
		byKey[l.Delivery.Key] = b.letter(id)
		if l.Delivery.Key == "discarded" {
			b.in(func(t *txn.Txn) { b.take(t, dlq.Filter{IDs: []int64{id}}, dlq.Discarded, 0, 1) })
		}
	}
	return byKey
}

func filterCases(l map[string]dlq.Letter) []filterCase {
	all := []string{"plain", "consumer", "handler", "topic", "class", "print"}
	from := l["topic"].CreatedAt
	return []filterCase{
		{"all open", dlq.Filter{}, all},
		{"open", dlq.Filter{State: dlq.Open}, all},
		{"discarded", dlq.Filter{State: dlq.Discarded}, []string{"discarded"}},
		{"redriven", dlq.Filter{State: dlq.Redriven}, nil},
		{"any state", dlq.Filter{AnyState: true}, append([]string{"discarded"}, all...)},
		{"ids", dlq.Filter{IDs: []int64{l["topic"].LetterID, l["discarded"].LetterID, l["plain"].LetterID}}, []string{"plain", "topic"}},
		{"consumer", dlq.Filter{Consumer: "shipping"}, []string{"consumer"}},
		{"part of a consumer", dlq.Filter{Consumer: "ship"}, nil},
		{"handler", dlq.Filter{Handler: "orders.lost"}, []string{"handler"}},
		{"topic", dlq.Filter{Topic: "refunds"}, []string{"topic"}},
		{"class", dlq.Filter{Class: dlq.Undecodable}, []string{"class"}},
		{"group", dlq.Filter{ErrorFingerprint: "print-2"}, []string{"print"}},
		{"key", dlq.Filter{Key: "plain"}, []string{"plain"}},
		{"pattern of a key", dlq.Filter{Key: "%"}, nil},
		{"since, included", dlq.Filter{Since: from}, []string{"topic", "class", "print"}},
		{"until, not included", dlq.Filter{Until: from}, []string{"plain", "consumer", "handler"}},
		{"since and until", dlq.Filter{Since: from, Until: from.Add(time.Microsecond)}, []string{"topic"}},
		{"in another zone", dlq.Filter{Since: from.In(time.FixedZone("", -9*3600)), Until: l["class"].CreatedAt}, []string{"topic"}},
		{"state and key", dlq.Filter{State: dlq.Discarded, Key: "plain"}, nil},
		{"consumer and class", dlq.Filter{Consumer: consumer, Class: dlq.Undecodable}, []string{"class"}},
		{"handler and topic", dlq.Filter{Handler: handler, Topic: "orders"}, []string{"plain", "consumer", "class", "print"}},
		{"everything", dlq.Filter{
			IDs: []int64{l["plain"].LetterID}, Consumer: consumer, Handler: handler, Topic: "orders", Class: dlq.Conflict,
			ErrorFingerprint: "print-1", Key: "plain", Since: l["plain"].CreatedAt, Until: l["consumer"].CreatedAt, State: dlq.Open,
		}, []string{"plain"}},
	}
}

// letterFilters: List, Count and Groups read a filter alike.
func letterFilters(b *bundle) {
	sorted := cmpopts.SortSlices(func(a, b string) bool { return a < b })
	for _, c := range filterCases(b.plots()) {
		list, err := b.Store.Letters().List(b.ctx, c.filter, 0, 100)
		b.must(err)
		var keys []string
		for _, l := range list {
			keys = append(keys, l.Delivery.Key)
		}
		if diff := cmp.Diff(c.want, keys, sorted, cmpopts.EquateEmpty()); diff != "" {
			b.Errorf("list by %s (-want +got):\n%s", c.name, diff)
		}
		n, err := b.Store.Letters().Count(b.ctx, c.filter)
		b.must(err)
		groups, err := b.Store.Letters().Groups(b.ctx, c.filter)
		b.must(err)
		var grouped int64
		for _, g := range groups {
			grouped += g.Count
		}
		if want := int64(len(c.want)); n != want || grouped != want {
			b.Errorf("by %s: Count is %d and all Groups %d, want %d", c.name, n, grouped, want)
		}
	}
}
