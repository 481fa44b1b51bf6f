package group

import (
	"container/list"
	"sync"
	"time"
)

// Queue holds tasks until a worker takes them, in lanes by order key. It is safe
// for concurrent use.
//
// Rules: tasks of one order key are given to one worker at a time, in the order in
// which they came. While a group is being worked on, tasks gather: another worker
// gets them when there are enough for a group of their own, or when they have
// lingered. Nothing waits while no group is being worked on.
type Queue struct {
	mu     sync.Mutex
	some   *sync.Cond
	lanes  map[string]*lane
	ready  list.List // of *Task (without an order key) and *lane (not taken, not empty)
	active int       // groups that are being worked on
	gather int       // tasks that make a group of their own beside one that is being worked on
	linger *time.Timer
	each   time.Duration // running mean of a group's time
	armed  bool          // linger runs
	waited bool          // the tasks that are ready have lingered
	closed bool

	resting map[*Task]bool // tasks without an order key that are left alone
}

// Tasks that are too few for a group of their own wait for about as long as the group
// that is being worked on will take, within these bounds: slow handlers must not hold
// up the others.
const (
	minLinger = 500 * time.Microsecond
	maxLinger = 10 * time.Millisecond
)

type lane struct {
	key   string
	tasks []*Task
	taken bool
	rests bool // its first task is left alone for a while
}

// NewQueue returns an empty queue for groups of at most batch tasks.
func NewQueue(batch int) *Queue {
	q := &Queue{lanes: make(map[string]*lane), resting: make(map[*Task]bool), gather: max(1, batch/4)}
	q.some = sync.NewCond(&q.mu)
	q.linger = time.AfterFunc(time.Hour, q.lingered)
	q.linger.Stop()
	return q
}

// lingered lets the tasks that are ready go.
func (q *Queue) lingered() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.armed, q.waited = false, true
	q.some.Signal()
}

// enough reports whether a worker may take what is ready.
func (q *Queue) enough() bool {
	n := q.ready.Len()
	return n > 0 && (q.active == 0 || n >= q.gather || q.waited)
}

// offer wakes a worker if there is enough for one, and otherwise sees to it that what
// is ready does not wait for long.
func (q *Queue) offer() {
	switch {
	case q.enough():
		q.some.Signal()
	case q.ready.Len() > 0 && !q.armed:
		q.armed = true
		q.linger.Reset(min(max(q.each, minLinger), maxLinger))
	}
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
		q.offer()
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
		q.offer()
	}
	return true
}

// Take blocks until there are tasks, and returns at most limit of them; nil when
// the queue is closed. The caller gives their lanes back with Done.
func (q *Queue) Take(limit func() int) []*Task {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.enough() && !q.closed {
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
	q.active++
	q.waited = false
	q.offer()
	return tasks
}

// Done gives back the lanes of taken, with those of its tasks that are to be run
// again at their front; took is how long the group was worked on. It returns the tasks
// that it could not take back because the queue is closed.
func (q *Queue) Done(taken, again []*Task, took time.Duration) []*Task {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.each += (took - q.each) / 8
	q.active--
	if q.closed {
		return again
	}
	for i := len(again) - 1; i >= 0; i-- {
		t := again[i]
		switch l := q.lanes[t.Delivery.OrderKey]; {
		case t.Delivery.OrderKey != "":
			l.tasks = append([]*Task{t}, l.tasks...)
		case t.rest > 0:
			q.resting[t] = true
			q.leaveAlone(t, nil)
		default:
			q.ready.PushFront(t)
		}
	}
	for _, t := range taken {
		l := q.lanes[t.Delivery.OrderKey]
		if l == nil || !l.taken || l.rests {
			continue
		}
		if len(l.tasks) > 0 && l.tasks[0].rest > 0 {
			l.rests = true
			q.leaveAlone(l.tasks[0], l)
			continue
		}
		l.taken = false
		if len(l.tasks) == 0 {
			delete(q.lanes, l.key)
			continue
		}
		q.ready.PushBack(l)
	}
	q.offer()
	return nil
}

// leaveAlone has t, or its lane, come back when it has rested; until then it is in
// nobody's way.
func (q *Queue) leaveAlone(t *Task, l *lane) {
	time.AfterFunc(t.rest, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.closed {
			return
		}
		t.rest = 0
		if l == nil {
			delete(q.resting, t)
			q.ready.PushBack(t)
		} else {
			l.taken, l.rests = false, false
			q.ready.PushBack(l)
		}
		q.waited = true
		q.offer()
	})
}

// Close wakes all who wait in Take, and returns the tasks that nobody took.
func (q *Queue) Close() []*Task {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil
	}
	q.closed = true
	q.linger.Stop()
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
	for t := range q.resting {
		left = append(left, t)
	}
	clear(q.resting)
	q.ready.Init()
	clear(q.lanes)
	return left
}
