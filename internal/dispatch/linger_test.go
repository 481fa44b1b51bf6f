package dispatch

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/internal/task"
)

func all() int { return 100 }

// taker takes batches until the queue is closed, and notes when each came.
func taker(q *Queue, hold func(n int)) chan time.Time {
	came := make(chan time.Time, 100)
	go func() {
		defer close(came)
		for n := 0; ; n++ {
			tasks := q.Take(all)
			if tasks == nil {
				return
			}
			came <- time.Now()
			hold(n)
			q.Done(tasks, nil, 0)
		}
	}()
	return came
}

// Nothing waits while no batch is worked on; beside a slow one, tasks gather for a
// short time, or until they make a batch of their own.
//
//evidence:gather
func TestTasksGatherBesideASlowBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(8)
		goOn := make(chan struct{})
		slow := taker(q, func(int) { <-goOn })
		start := time.Now()
		q.Push(delivery("", 1))
		want(t, "the first waits", (<-slow).Sub(start), 0)
		quick := taker(q, func(int) {})

		start = time.Now()
		q.Push(delivery("", 2))
		if took := (<-quick).Sub(start); took < minLinger || took > maxLinger {
			t.Errorf("a few wait for %s", took)
		}
		start = time.Now()
		for n := range 4 {
			q.Push(delivery("", 10+n))
		}
		want(t, "enough for a batch wait", (<-quick).Sub(start), 0)
		close(goOn)
		q.Close()
	})
}

// A task that lingers does not wait longer because the batch before it came as one
// that had lingered.
func TestLingeringStartsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(8)
		q.Push(delivery("", 1))
		slow := q.Take(all)
		q.Push(delivery("", 2))
		time.Sleep(maxLinger)
		synctest.Wait()
		second := q.Take(all)
		q.Push(delivery("", 3))
		want(t, "the third may go at once", available(q), false)
		time.Sleep(maxLinger)
		synctest.Wait()
		want(t, "the third may go", available(q), true)
		q.Done(slow, nil, 0)
		q.Done(second, nil, 0)
		q.Close()
	})
}

// What a batch gives back does not wait for a slow batch beside it: neither the rest
// of its orders, nor what is to be run again, nor what a full batch left over.
func TestGivenBackTasksDoNotWaitForASlowBatch(t *testing.T) {
	for name, c := range map[string]struct {
		tasks []*task.Task
		again bool
		limit int
	}{
		"the rest of an order key": {[]*task.Task{delivery("a", 1), delivery("a", 2)}, false, 1},
		"to be run again":          {[]*task.Task{delivery("", 1)}, true, 1},
		"to be run again, keyed":   {[]*task.Task{delivery("a", 1)}, true, 1},
		"left over":                {[]*task.Task{delivery("", 1), delivery("", 2)}, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := NewQueue(8)
				q.Push(delivery("slow", 1))
				slow := q.Take(all)
				for _, one := range c.tasks {
					q.Push(one)
				}
				time.Sleep(maxLinger)
				first := q.Take(func() int { return c.limit })
				var again []*task.Task
				if c.again {
					again = first
				}
				q.Done(first, again, 0)
				got := make(chan []*task.Task)
				start := time.Now()
				go func() { got <- q.Take(all) }()
				want(t, "taken", len(<-got), 1)
				if took := time.Since(start); took > maxLinger {
					t.Errorf("waited %s", took)
				}
				q.Done(slow, nil, 0)
				q.Close()
			})
		})
	}
}

// A queue that has been emptied is forgotten: keys come and go.
func TestEmptyQueuesAreForgotten(t *testing.T) {
	q := NewQueue(8)
	for n := range 10 {
		q.Push(delivery("a", n))
		q.Done(q.Take(all), nil, 0)
	}
	want(t, "orders", len(q.orders), 0)
}

// Slow batches make the next ones gather for longer, within bounds.
func TestLingerFollowsTheBatches(t *testing.T) {
	q := NewQueue(8)
	for range 50 {
		q.Done(nil, nil, 5*time.Millisecond)
	}
	if q.each < 4*time.Millisecond || q.each > 5*time.Millisecond {
		t.Errorf("mean %s of 5ms", q.each)
	}
}

// Closing wakes every worker.
func TestCloseWakesEveryWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(8)
		var workers []chan time.Time
		for range 3 {
			workers = append(workers, taker(q, func(int) {}))
		}
		synctest.Wait()
		q.Close()
		for _, w := range workers {
			<-w
		}
	})
}
