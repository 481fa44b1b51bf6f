package consumertest

import (
	"fmt"
	"strings"
	"sync"
)

// story is what happened in a test, for the one who reads its failure.
type story struct {
	mu    sync.Mutex
	lines []string
}

func (s *story) add(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// maxStory is how many lines of it a failure shows.
const maxStory = 40

// String returns the last lines.
func (s *story) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines, from := s.lines, ""
	if len(lines) > maxStory {
		from = fmt.Sprintf("\n\t… (%d more before)", len(lines)-maxStory)
		lines = lines[len(lines)-maxStory:]
	}
	return "what happened:" + from + indent(lines)
}

func indent(lines []string) string {
	if len(lines) == 0 {
		return " nothing"
	}
	return "\n\t" + strings.Join(lines, "\n\t")
}

// pulse is felt by all who wait for something to happen.
type pulse struct {
	mu   sync.Mutex
	next chan struct{}
}

func newPulse() *pulse { return &pulse{next: make(chan struct{})} }

// beat wakes everybody who has called felt.
func (p *pulse) beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.next)
	p.next = make(chan struct{})
}

// felt returns what is closed by the next beat.
func (p *pulse) felt() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.next
}
