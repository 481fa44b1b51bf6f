package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/headrace/headrace/internal/runner"
	"github.com/headrace/headrace/internal/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder settles deliveries, and remembers how.
type recorder struct {
	mu       sync.Mutex
	outcomes map[string][]task.Outcome
}

func (r *recorder) task(key string, n int) *task.Task {
	t := delivery(key, n)
	t.Handler = &task.Handler{}
	t.Settle = func(o task.Outcome) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.outcomes == nil {
			r.outcomes = make(map[string][]task.Outcome)
		}
		r.outcomes[t.Delivery.Key] = append(r.outcomes[t.Delivery.Key], o)
	}
	return t
}

func (r *recorder) of(key string, n int) []task.Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.outcomes[fmt.Sprintf("%s-%d", key, n)]
}

// A second delivery of a message waits behind the first, and is settled by its outcome;
// where that says nothing of the message, it is processed itself.
func TestSecondDelivery(t *testing.T) {
	t.Parallel()
	for first, want := range map[task.Outcome]struct {
		second task.Outcome
		again  bool
	}{
		task.Applied: {task.Duplicate, false}, task.Duplicate: {task.Duplicate, false}, task.Stale: {task.Duplicate, false},
		task.Waiting: {task.Duplicate, false}, task.Dead: {task.Duplicate, false}, task.Conflict: {task.Applied, true}, task.Released: {task.Applied, true},
	} {
		var r recorder
		d := New(NewInflight(), 8)
		one, two := r.task("a", 1), r.task("a", 1)
		d.Add(one)
		d.Add(two)
		tasks := d.queue.Take(all)
		if len(tasks) != 1 || tasks[0] != one {
			t.Fatalf("taken: %d", len(tasks))
		}
		one.Finish(first)
		d.queue.Done(tasks, nil, 0)
		if want.again {
			if tasks = d.queue.Take(all); len(tasks) != 1 || tasks[0] != two {
				t.Fatalf("%s: the second is not processed", first)
			}
			two.Finish(task.Applied)
			d.queue.Done(tasks, nil, 0)
		}
		if got := r.of("a", 1); !slices.Equal(got, []task.Outcome{first, want.second}) {
			t.Errorf("%s: settled %v", first, got)
		}
		if len(d.inflight.behind) != 0 {
			t.Errorf("%s: %d are in flight", first, len(d.inflight.behind))
		}
	}
}

// One that says something else under the same key, or cannot be decoded, is processed
// itself: it is no duplicate.
func TestSecondDeliveryOfAnotherMessage(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*task.Task){
		"fingerprint": func(t *task.Task) { t.Delivery.Fingerprint = "other" },
		"undecodable": func(t *task.Task) { t.Bad = errors.New("no JSON") },
	} {
		var r recorder
		d := New(NewInflight(), 8)
		one, two := r.task("", 1), r.task("", 1)
		change(two)
		d.Add(one)
		d.Add(two)
		tasks := d.queue.Take(all)
		one.Finish(task.Applied)
		d.queue.Done(tasks, nil, 0)
		if tasks = d.queue.Take(all); len(tasks) != 1 || tasks[0] != two {
			t.Errorf("%s: it was settled with the first", name)
		}
	}
}

// work runs a worker until the dispatcher is stopped.
func work(t *testing.T, next func(*runner.Lost) func(*runner.Session)) {
	(&runner.Runner{Grace: time.Minute}).Work(t.Context(), next)
}

// processed is a batch without a handler; these of its tasks run again.
type processed []*task.Task

func (processed) Next(*runner.Lost) func(*runner.Session) { return nil }
func (p processed) Left() []*task.Task                    { return p }

// A stop releases what no worker has begun, once, and ends the workers; what comes later
// is released at once.
func TestStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		d := New(NewInflight(), 8)
		goOn := make(chan struct{})
		var workers sync.WaitGroup
		stopping, stop := context.WithCancel(t.Context())
		workers.Go(func() {
			work(t, d.Worker(stopping, func() int { return 1 }, func(tasks []*task.Task) Batch {
				<-goOn
				if tasks[0].Delivery.Attempt == 2 { // not finished: the queue takes it back
					return processed(tasks)
				}
				tasks[0].Finish(task.Applied)
				return processed(nil)
			}))
		})
		for n := range 5 {
			d.Add(r.task("a", n))
		}
		synctest.Wait() // the first is in hand
		goOn <- struct{}{}
		synctest.Wait()
		stop()
		d.Stop()
		d.Add(r.task("a", 9))
		close(goOn)
		workers.Wait()
		for n, want := range []task.Outcome{task.Applied, task.Applied, task.Released, task.Released, task.Released} {
			if got := r.of("a", n); len(got) != 1 || got[0] != want {
				t.Errorf("task %d: %v, want %s", n, got, want)
			}
		}
		if got := r.of("a", 9); len(got) != 1 || got[0] != task.Released {
			t.Errorf("after the stop: %v", got)
		}
		if len(d.inflight.behind) != 0 {
			t.Errorf("%d are in flight", len(d.inflight.behind))
		}
	})
}

// What is stopping begins nothing: a batch that was taken is given back.
func TestNothingBeginsWhileStopping(t *testing.T) {
	t.Parallel()
	var r recorder
	d := New(NewInflight(), 8)
	stopping, stop := context.WithCancel(t.Context())
	stop()
	d.Add(r.task("", 1))
	done := make(chan struct{})
	go func() {
		defer close(done)
		work(t, d.Worker(stopping, func() int { go d.Stop(); return 8 }, func([]*task.Task) Batch {
			t.Error("it began")
			return processed(nil)
		}))
	}()
	<-done
	if got := r.of("", 1); len(got) != 1 || got[0] != task.Released {
		t.Errorf("%v", got)
	}
}

// A key with many tasks does not starve the others: its rest goes to the end of the line.
func TestHotKeyIsFair(t *testing.T) {
	t.Parallel()
	q := NewQueue(4)
	for n := range 100 {
		q.Push(delivery("hot", n))
	}
	q.Push(delivery("cold", 1))
	q.Push(delivery("", 2))
	first := q.Take(func() int { return 4 })
	q.Done(first, nil, 0)
	second := q.Take(func() int { return 4 })
	var keys []string
	for _, one := range second {
		keys = append(keys, one.Delivery.OrderKey)
	}
	if want := []string{"cold", "", "hot", "hot"}; !slices.Equal(keys, want) {
		t.Errorf("second batch %v, want %v", keys, want)
	}
}

// A task that rests comes back after its rest, in its place: an order key rests with it,
// and nothing else does.
func TestRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(8)
		keyed, next, free := delivery("a", 1), delivery("a", 2), delivery("", 3)
		for _, one := range []*task.Task{keyed, next, free} {
			q.Push(one)
		}
		taken := q.Take(all)
		keyed.Rest, free.Rest = time.Second, 2*time.Second
		start := time.Now()
		q.Done(taken, []*task.Task{keyed, next, free}, 0)
		q.Push(delivery("b", 4))
		other := q.Take(all)
		if len(other) != 1 || time.Since(start) != 0 {
			t.Fatalf("%d taken after %s", len(other), time.Since(start))
		}
		q.Done(other, nil, 0)
		back := q.Take(all)
		if took := time.Since(start); len(back) != 2 || back[0] != keyed || back[1] != next || took != time.Second || keyed.Rest != 0 {
			t.Errorf("%d after %s, rest %s", len(back), took, keyed.Rest)
		}
		q.Done(back, nil, 0)
		back = q.Take(all)
		if took := time.Since(start); len(back) != 1 || back[0] != free || took != 2*time.Second {
			t.Errorf("%d after %s", len(back), took)
		}
		free.Rest, keyed.Rest = time.Hour, time.Hour
		q.Push(keyed)
		also := q.Take(all)
		q.Done(back, back, 0)
		q.Done(also, also, 0)
		if left := q.Close(); len(left) != 2 { // those that rest are given back too
			t.Errorf("%d left", len(left))
		}
		if q.Close() != nil {
			t.Error("given back twice")
		}
		time.Sleep(2 * time.Hour) // the timers of a closed queue do nothing
		synctest.Wait()
		if n := q.ready.Len(); n != 0 {
			t.Errorf("%d are ready in a closed queue", n)
		}
	})
}

// Two tasks of an order key that are left alone at once rest at the same time.
func TestRestTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(8)
		first, second := delivery("a", 1), delivery("a", 2)
		q.Push(first)
		q.Push(second)
		taken := q.Take(all)
		first.Rest, second.Rest = time.Second, time.Second
		start := time.Now()
		q.Done(taken, taken, 0)
		one := func() int { return 1 }
		for _, want := range []*task.Task{first, second} {
			got := q.Take(one)
			if took := time.Since(start); len(got) != 1 || got[0] != want || took != time.Second {
				t.Errorf("%v after %s", got, took)
			}
			q.Done(got, nil, 0)
		}
		q.Close()
	})
}

// A budget bounds the number and the bytes; one that is larger than the whole is taken
// when it is the only one.
func TestBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(3, 100)
		take := func(size int64) chan bool {
			taken := make(chan bool, 1)
			go func() { taken <- b.Take(size) }()
			synctest.Wait()
			return taken
		}
		first := take(1000)
		want(t, "one that is too large, alone", len(first), 1)
		second := take(1)
		want(t, "one beside it", len(second), 0)
		b.Give(1000)
		synctest.Wait()
		want(t, "after it", len(second), 1)
		want(t, "up to the bytes", len(take(99)), 1)
		third := take(1)
		want(t, "beyond the bytes", len(third), 0)
		b.Give(99)
		synctest.Wait()
		want(t, "after they were given back", len(third), 1)
		want(t, "three", len(take(0)), 1)
		fourth := take(0)
		want(t, "beyond the number", len(fourth), 0)
		b.Give(1)
		synctest.Wait()
		want(t, "after one was given back", len(fourth), 1)
		fifth := take(0)
		b.Close()
		want(t, "closed", <-fifth, false)
		want(t, "after the end", b.Take(0), false)
	})
}
