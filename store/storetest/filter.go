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
	letters := graves("discarded", "plain", "consumer", "handler", "topic", "class", "print", "build", "host", "error", "payload", "headers", "pairs")
	letters[2].Consumer, letters[3].Handler, letters[4].Delivery.Topic = "shipping", "orders.lost", "refunds"
	letters[5].Class, letters[6].ErrorFingerprint = dlq.Undecodable, "print-2"
	letters[7].Build, letters[8].Host, letters[9].Error = "v2", "host-2", "order 4711 Zürich"
	letters[9].Delivery.Trace.Parent = "00-5bd1e0f7c4a94d6f8a3b2c1d0e9f8a7b-00f067aa0ba902b7-01"
	letters[10].Delivery.Payload = []byte(`{"total":-12.5,"na\u006de":"Zürich","lines":[{"sku":"a"}]}`)
	letters[11].Delivery.Metadata = map[string]string{"kind": "a\"b<c", "bytes": "\xff", "other": "kind"}
	letters[12].Delivery.Metadata = map[string]string{"kind": "a\"b<c", "\xfe": "x"}
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
	late := []string{"build", "host", "error", "payload", "headers", "pairs"}
	all := append([]string{"plain", "consumer", "handler", "topic", "class", "print"}, late...)
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
		{"since, included", dlq.Filter{Since: from}, append([]string{"topic", "class", "print"}, late...)},
		{"until, not included", dlq.Filter{Until: from}, []string{"plain", "consumer", "handler"}},
		{"since and until", dlq.Filter{Since: from, Until: from.Add(time.Microsecond)}, []string{"topic"}},
		{"in another zone", dlq.Filter{Since: from.In(time.FixedZone("", -9*3600)), Until: l["class"].CreatedAt}, []string{"topic"}},
		{"state and key", dlq.Filter{State: dlq.Discarded, Key: "plain"}, nil},
		{"consumer and class", dlq.Filter{Consumer: consumer, Class: dlq.Undecodable}, []string{"class"}},
		{"handler and topic", dlq.Filter{Handler: handler, Topic: "orders"}, append([]string{"plain", "consumer", "class", "print"}, late...)},
		{"build", dlq.Filter{Build: "v2"}, []string{"build"}},
		{"host", dlq.Filter{Host: "host-2"}, []string{"host"}},
		{"text of the error", dlq.Filter{Text: "4711"}, []string{"error"}},
		{"text of either", dlq.Filter{Text: "Zürich"}, []string{"error", "payload"}},
		{"text of the trace", dlq.Filter{Text: "5bd1e0f7c4a94d6f8a3b2c1d0e9f8a7b"}, []string{"error"}},
		{"text in another case", dlq.Filter{Text: "zürich"}, nil},
		{"pattern of a text", dlq.Filter{Text: "4%1"}, nil},
		{"header", dlq.Filter{Headers: map[string]string{"kind": "a\"b<c"}}, []string{"headers", "pairs"}},
		{"header of bytes", dlq.Filter{Headers: map[string]string{"bytes": "\xff"}}, []string{"headers"}},
		{"two headers", dlq.Filter{Headers: map[string]string{"kind": "a\"b<c", "other": "kind"}}, []string{"headers"}},
		{"part of a header", dlq.Filter{Headers: map[string]string{"kind": "a"}}, nil},
		{"value of another header", dlq.Filter{Headers: map[string]string{"kind": "kind"}}, nil},
		{"condition", dlq.Filter{Where: "$.total < 0"}, []string{"payload"}},
		{"condition on an escaped name", dlq.Filter{Where: `$.name == "Zürich"`}, []string{"payload"}},
		{"condition that does not hold", dlq.Filter{Where: "$.total > 0"}, nil},
		{"condition on many", dlq.Filter{Where: `$.lines[?@.sku == "a"]`}, []string{"payload"}},
		{"condition and header", dlq.Filter{Where: "$.total < 0", Headers: map[string]string{"kind": "kind"}}, nil},
		{"everything", dlq.Filter{
			IDs: []int64{l["plain"].LetterID}, Consumer: consumer, Handler: handler, Topic: "orders", Class: dlq.Conflict,
			ErrorFingerprint: "print-1", Key: "plain", Build: "v1.2.3", Host: "host-1", Text: "refused", Since: l["plain"].CreatedAt, Until: l["consumer"].CreatedAt, State: dlq.Open,
		}, []string{"plain"}},
	}
}

// letterFilters: List, Count, Groups and Take read a filter alike.
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
		b.takesAlike(c)
	}
}

// takesAlike: Take chooses the open letters that List has. What a statement cannot decide it
// refuses.
func (b *bundle) takesAlike(c filterCase) {
	b.Helper()
	if c.filter.AnyState || c.filter.State != "" && c.filter.State != dlq.Open {
		return
	}
	t, err := b.Store.Begin(b.ctx)
	b.must(err)
	defer t.Rollback()
	taken, err := b.Store.Letters().Take(b.ctx, t, c.filter, dlq.Redriven, 0, 100)
	if c.filter.InGo() {
		if err == nil {
			b.Errorf("taken by %s: %d letters", c.name, len(taken))
		}
		return
	}
	b.must(err)
	var keys []string
	for _, l := range taken {
		keys = append(keys, l.Delivery.Key)
	}
	if diff := cmp.Diff(c.want, keys, cmpopts.SortSlices(func(a, b string) bool { return a < b }), cmpopts.EquateEmpty()); diff != "" {
		b.Errorf("taken by %s (-want +got):\n%s", c.name, diff)
	}
}
