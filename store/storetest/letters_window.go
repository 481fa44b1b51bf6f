package storetest

import (
	"errors"
	"math"
	"slices"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/search"
	"github.com/headrace/headrace/store/txn"
)

// letterWindows: windows of each source lie beside each other, from the newest down and from
// the oldest up, and hold each letter once.
func letterWindows(b *bundle) {
	letters := graves("a", "b", "c", "d", "e", "f", "g", "h", "same")
	for i := range letters {
		letters[i].ErrorFingerprint = []string{"print-1", "print-2"}[i%2]
	}
	again := letters[8]
	again.Delivery.Fingerprint += " again"
	ids := b.die(append(letters, again)...)
	b.in(func(t *txn.Txn) { b.take(t, dlq.Filter{IDs: ids[2:4]}, dlq.Discarded, 0, 10) })
	for name, c := range map[string]struct {
		filter dlq.Filter
		source []int64
	}{
		"all":   {dlq.Filter{AnyState: true}, ids},
		"state": {dlq.Filter{State: dlq.Discarded}, ids},
		"open":  {dlq.Filter{}, slices.Concat(ids[:2], ids[4:])},
		"group": {dlq.Filter{ErrorFingerprint: "print-2"}, []int64{ids[1], ids[5], ids[7]}},
		"key":   {dlq.Filter{Key: "same"}, ids[8:]},
		"ids":   {dlq.Filter{IDs: []int64{ids[6], ids[0], 1 << 40, ids[3]}}, []int64{ids[0], ids[3], ids[6]}},
		"none":  {dlq.Filter{Key: "none"}, nil},
	} {
		for size := 1; size <= len(ids)+1; size++ {
			for _, oldest := range []bool{false, true} {
				if got := b.windows(c.filter, size, oldest); !slices.Equal(got, c.source) {
					b.Errorf("%s in windows of %d (from the oldest: %t): %d, want %d", name, size, oldest, got, c.source)
				}
			}
		}
	}
	if _, err := b.Store.Letters().List(b.ctx, dlq.Filter{Where: "$.a <"}, 0, 1); !errors.Is(err, search.ErrWhere) {
		b.Errorf("a condition that cannot be read: %v", err)
	}
	for at, want := range map[int64]int64{math.MaxInt64: ids[9], ids[9]: ids[9], ids[3]: ids[3], ids[0] - 1: 0} {
		id, created, err := b.Store.Letters().Created(b.ctx, at)
		b.must(err)
		if id != want || want != 0 && !created.Equal(b.letter(want).CreatedAt) {
			b.Errorf("the letter up to %d is %d of %s, want %d", at, id, created, want)
		}
	}
}

// windows walks over the windows of a filter's source, and returns its ids, lowest first.
func (b *bundle) windows(f dlq.Filter, size int, oldest bool) (ids []int64) {
	b.Helper()
	f2 := f
	f2.State, f2.AnyState = "", f.AnyState || f.State == dlq.Discarded || f.Key != "" || f.IDs != nil
	for left := (dlq.Span{}); ; {
		w, err := b.Store.Letters().Window(b.ctx, f, left, size, oldest)
		b.must(err)
		if w.Looked == 0 {
			slices.Sort(ids)
			return ids
		}
		found, err := b.Store.Letters().IDsIn(b.ctx, f2, w.Span)
		b.must(err)
		list, err := b.Store.Letters().ListIn(b.ctx, f2, w.Span, 1)
		b.must(err)
		if len(found) != int(w.Looked) || len(list) != 1 || list[0].LetterID != slices.Max(found) {
			b.Fatalf("%+v holds %d, and its newest is %+v", w, found, list)
		}
		ids = append(ids, found...)
		switch {
		case oldest && w.Below != left.Below:
			left.Above = w.Below - 1
		case !oldest && w.Above != left.Above:
			left.Below = w.Above + 1
		default:
			slices.Sort(ids)
			return ids
		}
	}
}
