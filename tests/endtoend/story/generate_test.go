package story

import (
	"context"
	"encoding/json"
	"io"
	"reflect"
	"testing"

	"github.com/headrace/headrace/tests/endtoend/shopify"
)

func all(t *testing.T, s stream) []webhook {
	t.Helper()
	var list []webhook
	for {
		w, err := s.next(context.Background())
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, w)
	}
}

// Whatever the size, at least a fifth repeats a fact, under another id; from 20 on there is one of each kind.
func TestGeneratorMixes(t *testing.T) {
	for _, n := range []int{0, 1, 2, 5, 9, 13, 20, 33, 300} {
		for seed := range uint64(3) {
			facts, ids, faults, bad := map[string]int{}, map[string]bool{}, map[string]int{}, 0
			for _, w := range all(t, newGenerator(n, seed)) {
				var o shopify.Order
				if err := json.Unmarshal(w.Payload, &o); err != nil {
					t.Fatal(err)
				}
				o.UpdatedAt = ""
				facts[string(marshal(o))]++
				faults[w.Headers[faultHeader]]++
				if _, err := shopify.InvoiceOf(o, w.Headers); err != nil {
					bad++
				}
				if ids[w.ID] {
					t.Fatalf("n %d, seed %d: id %s occurs twice", n, seed, w.ID)
				}
				ids[w.ID] = true
			}
			if len(ids) != n {
				t.Fatalf("n %d: %d webhooks", n, len(ids))
			}
			if repeated := n - len(facts); n > 1 && repeated*5 < n {
				t.Errorf("n %d, seed %d: %d repeat a fact, want a fifth", n, seed, repeated)
			}
			if n >= 20 && (faults[faultPanic] != 1 || faults[faultTransient] == 0 || bad == 0) {
				t.Errorf("n %d: faults %v, %d wrong", n, faults, bad)
			}
		}
	}
}

// Three deliveries of one order stand side by side, and one order comes with two totals.
func TestGeneratorTriplesAndConflicts(t *testing.T) {
	list := all(t, newGenerator(20, 1))
	id := func(i int) int64 {
		var o shopify.Order
		if err := json.Unmarshal(list[i].Payload, &o); err != nil {
			t.Fatal(err)
		}
		return o.ID
	}
	if id(4) != id(5) || id(5) != id(6) {
		t.Errorf("orders %d, %d, %d, want one", id(4), id(5), id(6))
	}
	totals := map[int64]map[string]bool{}
	for _, w := range list {
		var o shopify.Order
		if err := json.Unmarshal(w.Payload, &o); err != nil {
			t.Fatal(err)
		}
		if totals[o.ID] == nil {
			totals[o.ID] = map[string]bool{}
		}
		totals[o.ID][o.TotalPrice] = true
	}
	conflicts := 0
	for _, t := range totals {
		if len(t) > 1 {
			conflicts++
		}
	}
	if conflicts != 1 {
		t.Errorf("%d orders with two totals, want 1", conflicts)
	}
}

func TestGeneratorIsDeterministic(t *testing.T) {
	if !reflect.DeepEqual(all(t, newGenerator(500, 7)), all(t, newGenerator(500, 7))) {
		t.Error("one seed, two streams")
	}
	if a, b := all(t, newGenerator(1, 7)), all(t, newGenerator(1, 8)); string(a[0].Payload) == string(b[0].Payload) {
		t.Error("two seeds, one order")
	}
}
