package batch

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/internal/breaker"
	"github.com/headrace/headrace/internal/execute"
	"github.com/headrace/headrace/internal/judge"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/runner"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/store/sqlite"
)

// Where the numbers do not add up, nothing is committed and the consumer stops.
func TestSumOfOutcomes(t *testing.T) {
	t.Parallel()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var fatal error
	p := New(context.Background(), context.Background(), &Options{
		Store: st, Breaker: breaker.New(nil), Runner: &runner.Runner{Grace: time.Second}, StoreTimeout: time.Second,
		Recorder: &outcome.Recorder{Store: st}, Fatal: func(err error) { fatal = err },
	})
	one := &task.Task{Handler: &task.Handler{Scope: "s"}, Delivery: headrace.Delivery{Scope: "s", Key: "k"}}
	pt := &part{tasks: []*task.Task{one}}
	a := &attempt{p: p, c: &live{p}, part: pt, claimed: claimed{tasks: pt.tasks}}
	a.x = new(execute.Execution) // neither applied nor failed
	if a.t, err = st.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer a.t.Rollback()
	tr := a.commit()
	if tr == nil || judge.Decide(tr.Facts) != judge.Stop {
		t.Fatalf("%+v", tr)
	}
	if s := p.afterTrouble(pt, tr); len(s.left) != 1 || fatal == nil || !strings.Contains(fatal.Error(), "1 messages were claimed, 0 applied and 0 failed") {
		t.Errorf("%+v, %v", s, fatal)
	}
}

// What the server ends by itself is a little earlier than the handler's deadline, and not
// so early that our own statements cannot pass.
func TestLimits(t *testing.T) {
	t.Parallel()
	p := &Processor{Options: &Options{Runner: &runner.Runner{Grace: 5 * time.Second}}}
	for timeout, want := range map[time.Duration]time.Duration{
		time.Minute: 59 * time.Second, 2 * time.Second: 1800 * time.Millisecond, time.Second: 0, time.Millisecond: 0,
	} {
		if l := p.limits(timeout); l.Statement != want || l.Idle <= timeout+p.Runner.Grace {
			t.Errorf("%s: %+v", timeout, l)
		}
	}
}

// Order: parts that a part is split into hold its tasks in their order.
func TestParts(t *testing.T) {
	t.Parallel()
	var tasks []*task.Task
	for _, key := range []string{"", "a", "", "b", "a", "b", ""} {
		tasks = append(tasks, &task.Task{Delivery: headrace.Delivery{OrderKey: key}})
	}
	pt := &part{tasks: tasks, spaced: true, advised: true}
	for name, parts := range map[string][]*part{"halves": pt.halves(), "chunks": pt.chunks(3)} {
		var all []*task.Task
		for _, one := range parts {
			all = append(all, one.tasks...)
			if !one.spaced || !one.advised {
				t.Errorf("%s: %+v", name, one)
			}
		}
		if len(parts) < 2 || len(all) != len(tasks) {
			t.Errorf("%s: %d parts with %d tasks", name, len(parts), len(all))
		}
		for i := range all {
			if all[i] != tasks[i] {
				t.Errorf("%s: task %d is out of its order", name, i)
			}
		}
	}
	if one := pt.of(tasks[:1]); len(one.halves()) != 1 {
		t.Error("one task is halved")
	}
	smaller, rest := pt.without([]*task.Task{tasks[1], tasks[2]})
	if len(smaller.tasks) != 4 || len(rest) != 3 || rest[2] != tasks[4] {
		t.Errorf("%d and %d", len(smaller.tasks), len(rest)) // a's later task, and not what has no order key
	}
}

// Tasks are sorted by handler and order key, in their order within a key; rows of a strict
// key by their numbers, whatever their places are.
func TestInOrder(t *testing.T) {
	t.Parallel()
	a, b := &task.Handler{Name: "a"}, &task.Handler{Name: "b"}
	row := func(h *task.Handler, key string, id int64, strict bool) *task.Task {
		return &task.Task{Handler: h, Delivery: headrace.Delivery{OrderKey: key}, Item: &backlog.Item{RowID: id, Strict: strict}}
	}
	tasks := []*task.Task{
		row(b, "x", 1, true), row(a, "y", 9, true), row(a, "x", 7, false), row(a, "y", 2, true), row(a, "x", 3, false), row(a, "", 8, true), row(a, "", 4, true),
	}
	task.InOrder(tasks)
	var got []int64
	for _, one := range tasks {
		got = append(got, one.Item.RowID)
	}
	if want := []int64{8, 4, 7, 3, 2, 9, 1}; !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
}
