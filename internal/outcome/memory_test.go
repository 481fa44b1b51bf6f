package outcome

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/internal/task"
)

// A failure is known for one run of a message: a row is another run after each change. It
// is forgotten when it was recorded, or, where it is another process that did so, after a
// while.
func TestMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Memory
		row := func(attempt, reruns int) *task.Task {
			return &task.Task{Item: &backlog.Item{RowID: 7, Delivery: headrace.Delivery{Attempt: attempt}, Reruns: reruns}}
		}
		failed := &Failure{Task: row(1, 0), Err: errors.New("boom")}
		if !m.Learn(failed) || m.Learn(failed) {
			t.Error("it is new once")
		}
		again := row(1, 0) // read anew
		if f := m.Knows(again); f != failed || f.Task != again {
			t.Errorf("%+v", f)
		}
		if m.Knows(row(2, 0)) != nil || m.Knows(row(1, 1)) != nil {
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
