package kafka

import (
	"context"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"
)

// What is given back while other records wait to be handed over again takes its place
// among them.
func TestMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		offsets := rapid.SliceOfNDistinct(rapid.Int64Range(0, 100), 0, 20, rapid.ID[int64]).Draw(t, "offsets")
		cut := rapid.IntRange(0, len(offsets)).Draw(t, "cut")
		list := func(offsets []int64) (d []*delivery) {
			for _, o := range slices.Sorted(slices.Values(offsets)) {
				d = append(d, &delivery{record: &kgo.Record{Offset: o}})
			}
			return d
		}
		merged := merge(list(offsets[:cut]), list(offsets[cut:]))
		if len(merged) != len(offsets) || !slices.IsSortedFunc(merged, func(a, b *delivery) int { return int(a.record.Offset - b.record.Offset) }) {
			t.Fatalf("%d of %d, or not sorted", len(merged), len(offsets))
		}
	})
}

// Whatever is acknowledged in whatever order, the position is behind the newest record
// below which all are, with the gaps that transactions and compaction leave.
func TestPosition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWindow()
		var all []*delivery
		acked, offset := map[int64]bool{}, int64(0)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			if len(all) == 0 || rapid.Bool().Draw(t, "add") {
				offset += rapid.Int64Range(1, 3).Draw(t, "gap")
				d := &delivery{record: &kgo.Record{Offset: offset}}
				d.renew(context.Background())
				all = append(all, d)
				w.add(d)
			} else {
				d := rapid.SampledFrom(all).Draw(t, "which")
				if acked[d.record.Offset] = true; !d.done {
					d.m.Ack()
				}
				if rapid.Bool().Draw(t, "release") {
					w.release()
				}
			}
			w.settle()
			want := int64(-1)
			for _, d := range all {
				if !acked[d.record.Offset] {
					break
				}
				want = d.record.Offset + 1
			}
			if w.position.Offset != want {
				t.Fatalf("position %d, want %d", w.position.Offset, want)
			}
		}
	})
}
