package relay

import (
	"testing"

	"github.com/headrace/headrace/internal/drain"
	"github.com/headrace/headrace/internal/outboxread"
	"github.com/headrace/headrace/outbox"
)

// The mark never passes a row that stays where it is: the rows after it in its
// order would be read without it.
//
//evidence:event-order
func TestTheMarkStaysBelowWhatIsLeft(t *testing.T) {
	ready := []outbox.Row{{RowID: 11}, {RowID: 12}, {RowID: 15}}
	for name, c := range map[string]struct {
		settled settlement
		limit   int
		want    drain.Result
	}{
		"all dealt with":         {settlement{deletes: []int64{11, 12, 15}}, 10, drain.Result{Mark: 15, Rows: 3}},
		"a full batch":           {settlement{deletes: []int64{11, 12, 15}}, 3, drain.Result{Mark: 15, Rows: 3, More: true}},
		"one left":               {settlement{deletes: []int64{11, 15}, left: 12}, 10, drain.Result{Mark: 11, Rows: 2, More: true}},
		"held rows left":         {settlement{deletes: []int64{11, 12, 15}, heldLeft: true}, 10, drain.Result{Mark: 15, Rows: 3, More: true}},
		"nothing, in an outage":  {settlement{left: 11}, 3, drain.Result{Mark: 10}},
		"late and left below it": {settlement{left: 5}, 3, drain.Result{Mark: 4}},
	} {
		t.Run(name, func(t *testing.T) {
			b := &batch{after: 10, Batch: &outboxread.Batch{Limit: c.limit, Ready: ready}}
			if got := b.result(&c.settled); got != c.want {
				t.Errorf("result %+v, want %+v", got, c.want)
			}
		})
	}
}
