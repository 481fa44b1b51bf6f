package group

import "sort"

// held gathers the tasks of a group that are to be run again. Tasks of their order
// keys that come after them must not run before.
type held struct {
	group []*Task
	place map[*Task]int  // made when there is something to hold
	first map[string]int // the earliest held place of an order key
	tasks []*Task
}

// newHeld returns an empty set for a group whose tasks stand in order.
func newHeld(group []*Task) *held {
	return &held{group: group}
}

func (h *held) add(tasks []*Task) {
	if h.place == nil && len(tasks) > 0 {
		h.place, h.first = make(map[*Task]int, len(h.group)), make(map[string]int)
		for i, t := range h.group {
			h.place[t] = i
		}
	}
	for _, t := range tasks {
		h.tasks = append(h.tasks, t)
		key := t.Delivery.OrderKey
		if at, ok := h.first[key]; key != "" && (!ok || h.place[t] < at) {
			h.first[key] = h.place[t]
		}
	}
}

// split returns those of tasks that no held task comes before, and holds the others.
func (h *held) split(tasks []*Task) (free []*Task) {
	if len(h.first) == 0 {
		return tasks
	}
	for _, t := range tasks {
		if h.behind(t) {
			h.tasks = append(h.tasks, t)
		} else {
			free = append(free, t)
		}
	}
	return free
}

// behind reports whether a task of t's order key that comes before it is held.
func (h *held) behind(t *Task) bool {
	at, ok := h.first[t.Delivery.OrderKey]
	return ok && h.place[t] > at
}

// again returns what was held, in order.
func (h *held) again() []*Task {
	sort.Slice(h.tasks, func(i, j int) bool { return h.place[h.tasks[i]] < h.place[h.tasks[j]] })
	return h.tasks
}
