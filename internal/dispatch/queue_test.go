package dispatch

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/task"
)

func delivery(key string, n int) *task.Task {
	return &task.Task{Delivery: headrace.Delivery{Scope: "s", Key: fmt.Sprintf("%s-%d", key, n), OrderKey: key, Attempt: n}}
}

// Order: whatever is pushed, taken, given back and run again in any order, a key is
// never in two hands, and its tasks come out in order.
//
//evidence:order
func TestQueueKeepsOrderPerKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := NewQueue(8)
		pushed, finished := map[string]int{}, map[string]int{}
		var hands [][]*task.Task
		inHand := map[string]int{}
		waiting := 0
		actions := rapid.SliceOfN(rapid.IntRange(0, 3), 1, 200).Draw(t, "actions")
		for _, action := range actions {
			switch {
			case action <= 1:
				key := rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "key")
				q.Push(delivery(key, pushed[key]))
				pushed[key]++
				waiting++
			case action == 2 && available(q):
				limit := rapid.IntRange(1, 5).Draw(t, "limit")
				tasks := q.Take(func() int { return limit })
				if len(tasks) == 0 || len(tasks) > limit {
					t.Fatalf("took %d of at most %d", len(tasks), limit)
				}
				for _, one := range tasks {
					key := one.Delivery.OrderKey
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
				for _, one := range last {
					delete(inHand, one.Delivery.OrderKey)
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
func finish(t *rapid.T, hand []*task.Task, finished map[string]int) (again []*task.Task) {
	held := map[string]bool{}
	for _, one := range hand {
		key := one.Delivery.OrderKey
		if key != "" && !held[key] && one.Delivery.Attempt != finished[key] {
			t.Fatalf("key %q: task %d comes after %d were finished", key, one.Delivery.Attempt, finished[key])
		}
		if held[key] || key != "" && rapid.Bool().Draw(t, "again") {
			held[key] = true
			again = append(again, one)
			continue
		}
		finished[key]++
	}
	return again
}

func TestClosedQueue(t *testing.T) {
	q := NewQueue(8)
	taken := make(chan []*task.Task)
	go func() { taken <- q.Take(func() int { return 1 }) }()
	q.Close()
	if tasks := <-taken; tasks != nil {
		t.Errorf("took %v", tasks)
	}
	if q.Push(delivery("a", 1)) {
		t.Error("a closed queue takes tasks")
	}
	one := delivery("a", 2)
	if left := q.Done(nil, []*task.Task{one}, 0); len(left) != 1 {
		t.Error("a closed queue swallowed a task")
	}
}

// In one process an in-flight set keeps duplicates apart.
//
//evidence:once
func TestInflight(t *testing.T) {
	s := NewInflight()
	first, second, other := delivery("a", 1), delivery("a", 1), delivery("a", 2)
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

// What is given back beside a slow batch does not wait for its end.
func TestGivenBackTasksLinger(t *testing.T) {
	q := NewQueue(64)
	limit := func() int { return 1 }
	q.Push(delivery("slow", 1))
	slow := q.Take(limit) // stays in hand
	q.Push(delivery("a", 1))
	one := q.Take(limit)
	q.Done(one, one, 0)
	again := make(chan []*task.Task)
	go func() { again <- q.Take(limit) }()
	select {
	case tasks := <-again:
		if len(tasks) != 1 || tasks[0] != one[0] {
			t.Errorf("took %v", tasks)
		}
	case <-time.After(10 * time.Second):
		t.Error("what was given back waits for the slow batch")
	}
	q.Done(slow, nil, 0)
	q.Close()
}

// want compares what a test got.
func want[T comparable](t testing.TB, what string, got, wanted T) {
	t.Helper()
	if got != wanted {
		t.Errorf("%s: got %v, want %v", what, got, wanted)
	}
}
