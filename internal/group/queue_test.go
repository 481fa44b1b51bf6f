package group

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/headrace/headrace"
)

func task(key string, n int) *Task {
	return &Task{Delivery: headrace.Delivery{Scope: "s", Key: fmt.Sprintf("%s-%d", key, n), OrderKey: key, Attempt: n}}
}

// Order: whatever is pushed, taken, given back and run again in any order, a key is
// never in two hands, and its tasks come out in order.
func TestQueueKeepsOrderPerKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := NewQueue(8)
		pushed, finished := map[string]int{}, map[string]int{}
		var hands [][]*Task
		inHand := map[string]int{}
		waiting := 0
		actions := rapid.SliceOfN(rapid.IntRange(0, 3), 1, 200).Draw(t, "actions")
		for _, action := range actions {
			switch {
			case action <= 1:
				key := rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "key")
				q.Push(task(key, pushed[key]))
				pushed[key]++
				waiting++
			case action == 2 && available(q):
				limit := rapid.IntRange(1, 5).Draw(t, "limit")
				tasks := q.Take(func() int { return limit })
				if len(tasks) == 0 || len(tasks) > limit {
					t.Fatalf("took %d of at most %d", len(tasks), limit)
				}
				for _, task := range tasks {
					key := task.Delivery.OrderKey
					if key != "" && inHand[key] > 0 && inHand[key] != len(hands)+1 {
						t.Fatalf("key %q is in two hands", key)
					}
					inHand[key] = len(hands) + 1
				}
				hands = append(hands, tasks)
			case action == 3 && len(hands) > 0:
				last := hands[len(hands)-1]
				hands = hands[:len(hands)-1]
				again := finish(t, last, finished)
				for _, task := range last {
					delete(inHand, task.Delivery.OrderKey)
				}
				if left := q.Done(last, again, 0); left != nil {
					t.Fatal("an open queue took nothing back")
				}
				waiting -= len(last) - len(again)
			}
		}
		for _, hand := range hands {
			waiting -= len(hand)
		}
		if left := q.Close(); len(left) != waiting {
			t.Fatalf("%d left at the end, want %d", len(left), waiting)
		}
	})
}

func available(q *Queue) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.enough()
}

// finish ends the tasks of a hand in order; from some task on, those of one key are
// to be run again.
func finish(t *rapid.T, hand []*Task, finished map[string]int) (again []*Task) {
	held := map[string]bool{}
	for _, task := range hand {
		key := task.Delivery.OrderKey
		if key != "" && !held[key] && task.Delivery.Attempt != finished[key] {
			t.Fatalf("key %q: task %d comes after %d were finished", key, task.Delivery.Attempt, finished[key])
		}
		if held[key] || key != "" && rapid.Bool().Draw(t, "again") {
			held[key] = true
			again = append(again, task)
			continue
		}
		finished[key]++
	}
	return again
}

func TestClosedQueue(t *testing.T) {
	q := NewQueue(8)
	taken := make(chan []*Task)
	go func() { taken <- q.Take(func() int { return 1 }) }()
	q.Close()
	if tasks := <-taken; tasks != nil {
		t.Errorf("took %v", tasks)
	}
	if q.Push(task("a", 1)) {
		t.Error("a closed queue takes tasks")
	}
	one := task("a", 2)
	if left := q.Done(nil, []*Task{one}, 0); len(left) != 1 {
		t.Error("a closed queue swallowed a task")
	}
}

// In one process an in-flight set keeps duplicates apart.
func TestInflight(t *testing.T) {
	s := NewInflight()
	first, second, other := task("a", 1), task("a", 1), task("a", 2)
	if !s.Enter(first) || s.Enter(second) || !s.Enter(other) {
		t.Fatal("wrong ones may go on")
	}
	if behind := s.Leave(first); len(behind) != 1 || behind[0] != second {
		t.Errorf("behind: %v", behind)
	}
	if !s.Enter(second) {
		t.Error("the second may not go on after the first left")
	}
}

func TestGate(t *testing.T) {
	var changes []error
	g := NewGate(func(err error) { changes = append(changes, err) })
	if !g.Wait(t.Context()) {
		t.Fatal("a new gate is closed")
	}
	cause := errors.New("down")
	first := g.Fail(cause)
	for range 30 {
		if pause := g.Fail(cause); pause < first || pause > maxPause {
			t.Fatalf("pause %s", pause)
		}
	}
	waited := make(chan bool)
	go func() { waited <- g.Wait(t.Context()) }()
	select {
	case <-waited:
		t.Fatal("passed a closed gate")
	case <-time.After(10 * time.Millisecond):
	}
	g.OK()
	if !<-waited || g.Err() != nil {
		t.Error("still closed")
	}
	if len(changes) != 2 || changes[0] != cause || changes[1] != nil {
		t.Errorf("told %v", changes)
	}
}

// What is given back beside a slow group does not wait for its end.
func TestGivenBackTasksLinger(t *testing.T) {
	q := NewQueue(64)
	limit := func() int { return 1 }
	q.Push(task("slow", 1))
	slow := q.Take(limit) // stays in hand
	q.Push(task("a", 1))
	one := q.Take(limit)
	q.Done(one, one, 0)
	again := make(chan []*Task)
	go func() { again <- q.Take(limit) }()
	select {
	case tasks := <-again:
		if len(tasks) != 1 || tasks[0] != one[0] {
			t.Errorf("took %v", tasks)
		}
	case <-time.After(10 * time.Second):
		t.Error("what was given back waits for the slow group")
	}
	q.Done(slow, nil, 0)
	q.Close()
}
