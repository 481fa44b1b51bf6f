package consumertest

import (
	"fmt"
	"strings"
	"sync"
)

// story is what happened in a test, for the reader of its failure.
type story struct {
	mu    sync.Mutex
	lines []string
	told  int // how many lines tell has returned
}

func (s *story) add(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// length is how many lines the story has.
func (s *story) length() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lines)
}

// maxStory is how many lines a failure shows.
const maxStory = 40

// tell returns the last of the lines that it has not returned before: a test that fails
// in several ways shows each line once.
func (s *story) tell() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines, from, what := s.lines[s.told:], "", "what happened:"
	if s.told > 0 {
		what = "what happened after the failure above:"
	}
	s.told = len(s.lines)
	if len(lines) > maxStory {
		from = fmt.Sprintf("\n\t… (%d more before)", len(lines)-maxStory)
		lines = lines[len(lines)-maxStory:]
	}
	return what + from + indent(lines)
}

// Texts for a handler on SQLite that did not get the write lock, or whose context ended
// while it may have waited for it.
const (
	waited = "\nA handler waited for SQLite's write lock until it gave up."
	late   = "\nA handler ran out of time. Did it wait for SQLite's write lock?"
	waits  = " SQLite has one writer, and that is the transaction of the handler that runs: one that writes by the store's own DB " +
		"(Process.DB, Kit.DB) waits for itself. Write by the handler's Tx; effects outside of it are tested on PostgreSQL."
)

// tell returns the end of a failure's text.
func (k *Kit) tell() string {
	switch {
	case k.locked.Load():
		return k.story.tell() + waited + waits
	case k.late.Load():
		return k.story.tell() + late + waits
	}
	return k.story.tell()
}

func indent(lines []string) string {
	if len(lines) == 0 {
		return " nothing"
	}
	return "\n\t" + strings.Join(lines, "\n\t")
}

// pulse wakes the goroutines that wait for an event of the test.
type pulse struct {
	mu   sync.Mutex
	next chan struct{}
}

func newPulse() *pulse { return &pulse{next: make(chan struct{})} }

// beat wakes all goroutines that called felt.
func (p *pulse) beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.next)
	p.next = make(chan struct{})
}

// felt returns a channel that the next beat closes.
func (p *pulse) felt() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.next
}
