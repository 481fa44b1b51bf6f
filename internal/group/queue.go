package group

import (
	"container/list"
	"sync"
)

// Queue holds tasks until a worker takes them, in lanes by order key. It is safe
// for concurrent use.
//
// Rule: tasks of one order key are given to one worker at a time, in the order in
// which they came.
type Queue struct {
	mu     sync.Mutex
	some   *sync.Cond
	lanes  map[string]*lane
	ready  list.List // of *Task (without an order key) and *lane (not taken, not empty)
	closed bool
}

type lane struct {
	key   string
	tasks []*Task
	taken bool
}

// NewQueue returns an empty queue.
func NewQueue() *Queue {
	q := &Queue{lanes: make(map[string]*lane)}
	q.some = sync.NewCond(&q.mu)
	return q
}

// Push appends t, and reports false where the queue is closed.
func (q *Queue) Push(t *Task) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	key := t.Delivery.OrderKey
	if key == "" {
		q.ready.PushBack(t)
		q.some.Signal()
		return true
	}
	l := q.lanes[key]
	if l == nil {
		l = &lane{key: key}
		q.lanes[key] = l
	}
	l.tasks = append(l.tasks, t)
	if !l.taken && len(l.tasks) == 1 {
		q.ready.PushBack(l)
		q.some.Signal()
	}
	return true
}

// Take blocks until there are tasks, and returns at most limit of them; nil when
// the queue is closed. The caller gives their lanes back with Done.
func (q *Queue) Take(limit func() int) []*Task {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.ready.Len() == 0 && !q.closed {
		q.some.Wait()
	}
	if q.closed {
		return nil
	}
	room := max(limit(), 1)
	tasks := make([]*Task, 0, min(room, 64))
	for front := q.ready.Front(); front != nil && len(tasks) < room; front = q.ready.Front() {
		q.ready.Remove(front)
		switch entry := front.Value.(type) {
		case *Task:
			tasks = append(tasks, entry)
		case *lane:
			n := min(len(entry.tasks), room-len(tasks))
			tasks = append(tasks, entry.tasks[:n]...)
			entry.tasks = append([]*Task(nil), entry.tasks[n:]...)
			entry.taken = true
		}
	}
	if q.ready.Len() > 0 {
		q.some.Signal()
	}
	return tasks
}

// Done gives back the lanes of taken, with those of its tasks that are to be run
// again at their front. It returns the tasks that it could not take back because
// the queue is closed.
func (q *Queue) Done(taken, again []*Task) []*Task {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return again
	}
	for i := len(again) - 1; i >= 0; i-- {
		t := again[i]
		if l := q.lanes[t.Delivery.OrderKey]; t.Delivery.OrderKey != "" {
			l.tasks = append([]*Task{t}, l.tasks...)
		} else {
			q.ready.PushFront(t)
			q.some.Signal()
		}
	}
	for _, t := range taken {
		l := q.lanes[t.Delivery.OrderKey]
		if l == nil || !l.taken {
			continue
		}
		l.taken = false
		if len(l.tasks) == 0 {
			delete(q.lanes, l.key)
			continue
		}
		q.ready.PushBack(l)
		q.some.Signal()
	}
	return nil
}

// Close wakes all who wait in Take, and returns the tasks that nobody took.
func (q *Queue) Close() []*Task {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil
	}
	q.closed = true
	q.some.Broadcast()
	var left []*Task
	for e := q.ready.Front(); e != nil; e = e.Next() {
		if t, ok := e.Value.(*Task); ok {
			left = append(left, t)
		}
	}
	for _, l := range q.lanes {
		left = append(left, l.tasks...)
	}
	q.ready.Init()
	clear(q.lanes)
	return left
}
