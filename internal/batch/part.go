package batch

import (
	"math/rand/v2"
	"slices"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/task"
)

// part is tasks that share a transaction, and how they run.
type part struct {
	tasks []*task.Task
	// before are tasks before which a savepoint is set.
	before map[*task.Task]bool
	// spaced asks for savepoints from the start.
	spaced bool
	// checked asks for checking deferred constraints after each message.
	checked bool
	// singly runs the messages of a batch handler one by one.
	singly bool
	// keyByKey makes the claim find out which keys other transactions hold.
	keyByKey bool
	// advised says that the guard has seen the tasks; alone, that they may only run as the only work of this process.
	advised, alone bool
}

// learn stores failures seen in a transaction that is rolled back, and reports whether one is new. Stale and held
// back messages are not stored: they may end differently in the transaction that commits.
func (p *Processor) learn(pt *part, failures []*outcome.Failure) bool {
	var keep []*outcome.Failure
	for _, f := range failures {
		if f.Kind != outcome.HeldBack && (f.Kind != outcome.Stale || len(pt.tasks) == 1) {
			keep = append(keep, f)
		}
	}
	pt.spaced = true
	return p.memory.Learn(keep...)
}

// open counts the tasks of pt without a known failure.
func (p *Processor) open(pt *part) (n int) {
	for _, t := range pt.tasks {
		if p.memory.Knows(t) == nil {
			n++
		}
	}
	return n
}

// of returns a part like pt with some of its tasks.
func (pt *part) of(tasks []*task.Task) *part {
	made := *pt
	made.tasks = tasks
	return &made
}

// halves splits the part. If the cause of a failure is unknown, a message runs at most as
// often as its part can be halved.
func (pt *part) halves() []*part {
	n := len(pt.tasks)
	if n < 2 {
		return []*part{pt}
	}
	return []*part{pt.of(pt.tasks[:n/2]), pt.of(pt.tasks[n/2:])}
}

// chunks splits the part into parts of at most n tasks.
func (pt *part) chunks(n int) (parts []*part) {
	for some := range slices.Chunk(pt.tasks, n) {
		parts = append(parts, pt.of(some))
	}
	return parts
}

// without returns the part without some of its tasks and the later ones of their order keys, and those as rest.
func (pt *part) without(some []*task.Task) (smaller *part, rest []*task.Task) {
	keys := make(map[string]bool)
	var tasks []*task.Task
	for _, t := range pt.tasks {
		key := t.Delivery.OrderKey
		if keys[key] || slices.Contains(some, t) {
			rest = append(rest, t)
			keys[key] = key != ""
			continue
		}
		tasks = append(tasks, t)
	}
	return pt.of(tasks), rest
}

// advise asks the guard how the tasks may run. It returns parts to run and tasks that
// must wait; tasks that must not run again become known failures.
func (p *Processor) advise(pt *part) (parts []*part, later []*task.Task) {
	pt.advised = true
	advice := p.Guard.Advise(p.stopping, task.IDs(pt.tasks))
	if advice == nil { // no message is suspected
		return []*part{pt}, nil
	}
	var together []*task.Task
	suspects := make(map[backlog.OrderKey]bool) // later rows of their strict order stay where they are
	for i, t := range pt.tasks {
		key, strict := t.StrictKey()
		if strict && suspects[key] {
			continue
		}
		switch advice[i] {
		case Alone:
			suspects[key] = strict
			alone := pt.of([]*task.Task{t})
			alone.alone = true
			parts = append(parts, alone)
		case Later:
			t.Rest = restTime
			later = append(later, t)
		case Never:
			p.memory.Learn(&outcome.Failure{Task: t, Kind: outcome.Crashed, Err: outcome.ErrCrashed})
			together = append(together, t)
		default:
			together = append(together, t)
		}
	}
	// In random order: the harmless ones get through before the one that ends the process.
	rand.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	if len(together) > 0 {
		parts = append([]*part{pt.of(together)}, parts...)
	}
	return parts, later
}
