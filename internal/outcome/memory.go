package outcome

import (
	"maps"
	"sync"
	"time"

	"github.com/headrace/headrace/internal/task"
)

// Memory holds failures seen in transactions that were rolled back, until they are
// recorded: their messages do not run again, however long it takes to claim them. It is
// safe for concurrent use; the zero value is empty.
type Memory struct {
	mu    sync.Mutex
	known map[run]remembered
}

// run identifies a run of a message. A row gets another place each time that it becomes ready,
// and another token with each lease.
type run struct {
	live       *task.Task
	row, place int64
	token      string
}

type remembered struct {
	failure *Failure
	at      time.Time
}

// Failures of rows that another process has handled are dropped after a while.
const (
	manyKnown = 1000
	knownFor  = 10 * time.Minute
)

func runOf(t *task.Task) run {
	if t.Item == nil {
		return run{live: t}
	}
	return run{row: t.Item.RowID, place: t.Item.Place, token: t.Token}
}

// SameRun reports whether a and b are one run of a message.
func SameRun(a, b *task.Task) bool { return runOf(a) == runOf(b) }

// Learn stores failures, and reports whether one of them is new.
func (m *Memory) Learn(failures ...*Failure) (fresh bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = make(map[run]remembered)
	}
	if len(m.known) > manyKnown {
		maps.DeleteFunc(m.known, func(_ run, r remembered) bool { return time.Since(r.at) >= knownFor })
	}
	for _, f := range failures {
		if _, known := m.known[runOf(f.Task)]; !known {
			fresh = true
			m.known[runOf(f.Task)] = remembered{f, time.Now()}
		}
	}
	return fresh
}

// Knows returns the failure of t to be recorded; nil if there is none.
func (m *Memory) Knows(t *task.Task) *Failure {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.known[runOf(t)]
	if !ok {
		return nil
	}
	known.failure.Task = t
	return known.failure
}

// Forget drops the failure of t, which has its outcome.
func (m *Memory) Forget(t *task.Task) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, runOf(t))
}
