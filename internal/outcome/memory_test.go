package outcome

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/internal/task"
)

// A failure is known for one run of a message: a row that became ready again, or has another
// lease, is another run. It is forgotten when it was recorded, or, where it is another process that did so, after a
// while.
func TestMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Memory
		row := func(place int64, token string) *task.Task {
			return &task.Task{Item: &backlog.Item{RowID: 7, Place: place}, Token: token}
		}
		failed := &Failure{Task: row(1, ""), Err: errors.New("boom")}
		if !m.Learn(failed) || m.Learn(failed) {
			t.Error("it is new once")
		}
		again := row(1, "") // read anew
		if f := m.Knows(again); f != failed || f.Task != again {
			t.Errorf("%+v", f)
		}
		if m.Knows(row(2, "")) != nil || m.Knows(row(1, "token")) != nil {
			t.Error("the next run is known to have failed")
		}
		a, b := &task.Task{}, &task.Task{}
		m.Learn(&Failure{Task: a})
		if m.Knows(a) == nil || m.Knows(b) != nil {
			t.Error("deliveries are mixed up")
		}
		m.Forget(a)
		if m.Knows(a) != nil {
			t.Error("not forgotten")
		}
		time.Sleep(knownFor)
		for n := range manyKnown + 1 {
			m.Learn(&Failure{Task: &task.Task{Item: &backlog.Item{RowID: int64(100 + n)}}})
		}
		m.Learn(&Failure{Task: b})
		if m.Knows(again) != nil || m.Knows(b) == nil || len(m.known) != manyKnown+2 {
			t.Errorf("%d are known", len(m.known))
		}
	})
}
