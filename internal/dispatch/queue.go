package dispatch

import (
	"container/list"
	"sync"
	"time"

	"github.com/headrace/headrace/internal/task"
)

// Queue holds tasks until a worker takes them. It is safe for concurrent use.
//
// Rules: one worker at a time gets tasks of an order key, in the order in which they
// came. While a batch is being processed, tasks collect: another worker gets them when
// there are enough for a batch, or when they have waited for the linger time. While no
// batch is being processed, a task is returned at once.
type Queue struct {
	mu     sync.Mutex
	some   *sync.Cond
	orders map[string]*orderQueue
	ready  list.List // of *task.Task (without an order key) and *orderQueue (not taken, not empty)
	active int       // batches being processed
	gather int       // tasks that are enough for a second concurrent batch
	linger *time.Timer
	each   time.Duration // running mean of a batch's time
	armed  bool          // linger runs
	waited bool          // the ready tasks have waited long enough
	closed bool

	resting map[*task.Task]bool // tasks without an order key that wait for their Rest
}

// Tasks that are too few for a batch wait for about as long as the current batch will
// take, within these bounds: slow handlers must not delay the others.
const (
	minLinger = 500 * time.Microsecond
	maxLinger = 10 * time.Millisecond
)

type orderQueue struct {
	key   string
	tasks []*task.Task
	taken bool
	rests bool // its first task waits for its Rest
}

// NewQueue returns an empty queue for batches of at most batch tasks.
func NewQueue(batch int) *Queue {
	q := &Queue{orders: make(map[string]*orderQueue), resting: make(map[*task.Task]bool), gather: max(1, batch/4)}
	q.some = sync.NewCond(&q.mu)
	q.linger = time.AfterFunc(time.Hour, q.lingered)
	q.linger.Stop()
	return q
}

// lingered lets workers take the ready tasks.
func (q *Queue) lingered() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.armed, q.waited = false, true
	q.some.Signal()
}

// enough reports whether a worker may take the ready tasks.
func (q *Queue) enough() bool {
	n := q.ready.Len()
	return n > 0 && (q.active == 0 || n >= q.gather || q.waited)
}

// offer wakes a worker if there are enough tasks, and otherwise starts the timer.
func (q *Queue) offer() {
	switch {
	case q.enough():
		q.some.Signal()
	case q.ready.Len() > 0 && !q.armed:
		q.armed = true
		q.linger.Reset(min(max(q.each, minLinger), maxLinger))
	}
}

// Push appends t, and reports false if the queue is closed.
func (q *Queue) Push(t *task.Task) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	key := t.Delivery.OrderKey
	if key == "" {
		q.ready.PushBack(t)
		q.offer()
		return true
	}
	l := q.orders[key]
	if l == nil {
		l = &orderQueue{key: key}
		q.orders[key] = l
	}
	l.tasks = append(l.tasks, t)
	if !l.taken && len(l.tasks) == 1 {
		q.ready.PushBack(l)
		q.offer()
	}
	return true
}

// Take blocks until there are tasks, and returns at most limit() of them; nil when the
// queue is closed. The caller returns them with Done.
func (q *Queue) Take(limit func() int) []*task.Task {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.enough() && !q.closed {
		q.some.Wait()
	}
	if q.closed {
		return nil
	}
	room := max(limit(), 1)
	tasks := make([]*task.Task, 0, min(room, q.ready.Len()))
	for front := q.ready.Front(); front != nil && len(tasks) < room; front = q.ready.Front() {
		q.ready.Remove(front)
		switch entry := front.Value.(type) {
		case *task.Task:
			tasks = append(tasks, entry)
		case *orderQueue:
			n := min(len(entry.tasks), room-len(tasks))
			tasks = append(tasks, entry.tasks[:n]...)
			entry.tasks = append([]*task.Task(nil), entry.tasks[n:]...)
			entry.taken = true
		}
	}
	q.active++
	q.waited = false
	q.offer()
	return tasks
}

// Done ends the work on taken. again are those of its tasks to run again: they go to the
// front of their order key. took is how long the batch took. It returns the tasks that it
// could not queue because the queue is closed.
func (q *Queue) Done(taken, again []*task.Task, took time.Duration) []*task.Task {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.each += (took - q.each) / 8
	q.active--
	if q.closed {
		return again
	}
	for i := len(again) - 1; i >= 0; i-- {
		t := again[i]
		switch l := q.orders[t.Delivery.OrderKey]; {
		case t.Delivery.OrderKey != "":
			l.tasks = append([]*task.Task{t}, l.tasks...)
		case t.Rest > 0:
			q.resting[t] = true
			q.leaveAlone(t, nil)
		default:
			q.ready.PushFront(t)
		}
	}
	for _, t := range taken {
		l := q.orders[t.Delivery.OrderKey]
		if l == nil || !l.taken || l.rests {
			continue
		}
		if len(l.tasks) > 0 && l.tasks[0].Rest > 0 {
			l.rests = true
			q.leaveAlone(l.tasks[0], l)
			continue
		}
		l.taken = false
		if len(l.tasks) == 0 {
			delete(q.orders, l.key)
			continue
		}
		q.ready.PushBack(l)
	}
	q.offer()
	return nil
}

// leaveAlone queues t, or the queue of its order key, after t.Rest. Other tasks do not
// wait for it.
func (q *Queue) leaveAlone(t *task.Task, l *orderQueue) {
	time.AfterFunc(t.Rest, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.closed {
			return
		}
		if l == nil {
			t.Rest = 0
			delete(q.resting, t)
			q.ready.PushBack(t)
		} else {
			for _, t := range l.tasks { // those behind it have waited, too
				t.Rest = 0
			}
			l.taken, l.rests = false, false
			q.ready.PushBack(l)
		}
		q.waited = true
		q.offer()
	})
}

// Close ends all calls of Take, and returns the tasks that were not taken.
func (q *Queue) Close() []*task.Task {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil
	}
	q.closed = true
	q.linger.Stop()
	q.some.Broadcast()
	var left []*task.Task
	for e := q.ready.Front(); e != nil; e = e.Next() {
		if t, ok := e.Value.(*task.Task); ok {
			left = append(left, t)
		}
	}
	for _, l := range q.orders {
		left = append(left, l.tasks...)
	}
	for t := range q.resting {
		left = append(left, t)
	}
	clear(q.resting)
	q.ready.Init()
	clear(q.orders)
	return left
}
