package amqp

import (
	"testing"

	"pgregory.net/rapid"
)

// Rule: an ack never settles a delivery that was not settled. The model is the broker:
// what it was told, per frame.
func TestLedgerSettlesNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "deliveries")
		order := rapid.Permutation(tags(n)).Draw(t, "order")
		rec := &recorder{settled: make(map[uint64]bool), told: make(map[uint64]string)}
		l := ledger{low: 1, settled: make(map[uint64]bool)}
		for len(order) > 0 {
			batch := rapid.IntRange(1, len(order)).Draw(t, "batch")
			for _, tag := range order[:batch] {
				ack := rapid.Bool().Draw(t, "ack")
				rec.settled[tag] = ack
				note(rec, &l, settlement{tag, ack})
			}
			order = order[batch:]
			send(rec, &l)
			if rec.wrong != "" {
				t.Fatal(rec.wrong)
			}
			for tag, ack := range rec.settled {
				if want := map[bool]string{true: "ack", false: "nack"}[ack]; rec.told[tag] != want {
					t.Fatalf("delivery %d was settled (%s), the broker was told %q", tag, want, rec.told[tag])
				}
			}
		}
		if len(l.settled) != 0 || l.low != uint64(n)+1 {
			t.Fatalf("after all: low is %d, %d are remembered", l.low, len(l.settled))
		}
	})
}

func tags(n int) []uint64 {
	all := make([]uint64, n)
	for i := range all {
		all[i] = uint64(i) + 1
	}
	return all
}

// recorder is a broker that looks at each frame.
type recorder struct {
	settled map[uint64]bool // by the consumer
	told    map[uint64]string
	wrong   string
}

// Ack implements settler.
func (r *recorder) Ack(tag uint64, multiple bool) error {
	from := tag
	if multiple {
		from = 1
	}
	for t := from; t <= tag; t++ {
		if r.told[t] != "" {
			continue
		}
		if ack, settled := r.settled[t]; !settled || !ack {
			r.wrong = "an ack settles what was not acknowledged"
		}
		r.told[t] = "ack"
	}
	return nil
}

// Nack implements settler.
func (r *recorder) Nack(tag uint64, _, _ bool) error {
	r.told[tag] = "nack"
	return nil
}
