package life

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
)

// outcome is what a run of the handler does. Each begins with the effect, so that one
// that is not rolled back is seen.
type outcome string

const (
	succeed outcome = "ok"
	fail    outcome = "fail"
	panics  outcome = "panic"
	give    outcome = "permanent"
	putOff  outcome = "later"
	stale   outcome = "stale"
)

// maxAttempts and immediate are the policy of every life.
const (
	maxAttempts = 3
	immediate   = 1
)

// paper is a dead letter.
type paper struct {
	class   dlq.Class
	state   dlq.State
	payload string
	old     bool
}

// message is where a message is, and what it was through. It is the model.
type message struct {
	state    inbox.State // "" where there is no row
	payload  string      // of the row
	stale    bool
	old      bool // the row
	spent    int  // attempts of this budget
	attempts int  // recorded
	effects  int
	runs     int
	letters  []paper // in the order in which they were written
}

// script is what the runs to come do; one that is missing succeeds.
type script []outcome

func (s *script) next() outcome {
	if len(*s) == 0 {
		return succeed
	}
	o := (*s)[0]
	*s = (*s)[1:]
	return o
}

// deliver is the arrival of payload.
func (m *message) deliver(payload string, s script) {
	switch {
	case m.state == "":
		m.payload, m.spent = payload, 0
		m.run(&s)
	case m.payload != payload:
		m.deadLetter(dlq.Conflict, payload)
	}
}

// run is all that happens until the message is done, dead, or put off for long.
func (m *message) run(s *script) {
	m.old = false
	if m.payload == unreadable {
		m.die(dlq.Undecodable)
		return
	}
	for {
		o := s.next()
		m.runs++
		switch o {
		case succeed, stale:
			m.state, m.stale = inbox.Done, o == stale
			if o == succeed {
				m.effects++
			}
			return
		}
		m.attempts++
		m.spent++
		switch {
		case o == give:
			m.die(dlq.Permanent)
			return
		case m.spent == maxAttempts:
			m.die(dlq.Exhausted)
			return
		case o == putOff:
			m.state = inbox.Waiting
			return
		}
	}
}

func (m *message) die(class dlq.Class) {
	m.state = inbox.Dead
	m.deadLetter(class, m.payload)
}

// deadLetter writes a letter, unless the same message has an open one. A conflict has one letter,
// whatever became of it.
func (m *message) deadLetter(class dlq.Class, payload string) {
	conflict := class == dlq.Conflict
	for _, l := range m.letters {
		if l.payload == payload && (l.class == dlq.Conflict) == conflict && (conflict || l.state == dlq.Open) {
			return
		}
	}
	m.letters = append(m.letters, paper{class: class, state: dlq.Open, payload: payload})
}

// due is the end of a long delay.
func (m *message) due(s script) {
	if m.state == inbox.Waiting {
		m.run(&s)
	}
}

// redrive is a person's, of every open letter of the key.
func (m *message) redrive(s script) {
	for i := range m.letters {
		l := &m.letters[i]
		if l.state == dlq.Open && l.class != dlq.Conflict && m.state == inbox.Dead {
			l.state, l.old = dlq.Redriven, false
			m.spent = 0
			m.run(&s)
			return // there is one at most, and the next letter is newer than the request
		}
	}
}

// redriveAs sends the first open conflict of m again as the message fresh.
func (m *message) redriveAs(fresh *message, s script) {
	for i := range m.letters {
		l := &m.letters[i]
		if l.state == dlq.Open && l.class == dlq.Conflict {
			l.state, l.old = dlq.Redriven, false
			fresh.payload = l.payload
			fresh.run(&s)
			return
		}
	}
}

// discard is a person's, of every open letter of the key.
func (m *message) discard() {
	for i := range m.letters {
		l := &m.letters[i]
		if l.state != dlq.Open {
			continue
		}
		l.state, l.old = dlq.Discarded, false
		if l.class != dlq.Conflict && m.state == inbox.Dead {
			m.state, m.old = inbox.Discarded, false
		}
	}
}

// age makes everything of the key older than any window.
func (m *message) age() {
	m.old = true
	for i := range m.letters {
		m.letters[i].old = true
	}
}

// prune is a whole round; open letters go only where open says so.
func (m *message) prune(open bool) {
	waits := slices.ContainsFunc(m.letters, func(l paper) bool { return l.state == dlq.Open })
	if (m.state == inbox.Done || m.state == inbox.Discarded) && m.old && !waits {
		m.forget()
	}
	before := m.state
	m.letters = slices.DeleteFunc(m.letters, func(l paper) bool {
		switch {
		case !l.old:
			return false
		case l.state != dlq.Open:
			return before == "" || before == inbox.Done
		case open && l.class != dlq.Conflict && m.state == inbox.Dead:
			m.forget()
		}
		return open
	})
}

func (m *message) forget() {
	*m = message{effects: m.effects, runs: m.runs, letters: m.letters}
}

// String is what a test compares and prints.
func (m *message) String() string {
	var letters []string
	for _, l := range m.letters {
		letters = append(letters, fmt.Sprintf("%s %s %s", l.state, l.class, l.payload))
	}
	slices.Sort(letters)
	return fmt.Sprintf("state %q, stale %t, %d attempts, %d effects, %d runs, letters [%s]",
		m.state, m.stale, m.attempts, m.effects, m.runs, strings.Join(letters, "; "))
}
