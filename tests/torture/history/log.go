package history

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Op says what an entry tells.
type Op string

// The entries.
const (
	// Invoke: the message is about to be given to the source.
	Invoke Op = "invoke"
	// OK, Info and Fail: it was given; it is unknown; it was not.
	OK   Op = "ok"
	Info Op = "info"
	Fail Op = "fail"
	// Ack and Nack: the source was told so. Expired: a session ended with messages in hand.
	Ack     Op = "ack"
	Nack    Op = "nack"
	Expired Op = "expired"
	// Published: the downstream topic has it.
	Published Op = "published"
	// Begin and End of a fault; Hit: it took effect.
	Begin Op = "begin"
	End   Op = "end"
	Hit   Op = "hit"
	// Aged: the message's record was made old, for a prune.
	Aged Op = "aged"
	// Wrong: a probe saw a broken invariant during the run.
	Wrong Op = "wrong"
)

// Entry is a line.
type Entry struct {
	At     time.Time `json:"at"`
	Op     Op        `json:"op"`
	ID     string    `json:"id,omitempty"`    // of the message or event
	Topic  string    `json:"topic,omitempty"` // where it goes
	Key    string    `json:"key,omitempty"`   // its order key
	N      int64     `json:"n,omitempty"`     // its number at the source, or downstream
	Kind   string    `json:"kind,omitempty"`  // of message
	Amount int64     `json:"amount,omitempty"`
	Sum    string    `json:"sum,omitempty"`   // of payload and metadata
	Cause  string    `json:"cause,omitempty"` // of an event: its message
	Fault  string    `json:"fault,omitempty"` // what the nemesis does
	Says   string    `json:"says,omitempty"`  // in words
}

// Log is a history that is being written. It is safe for concurrent use. The first
// error of the file is kept and returned by Close.
type Log struct {
	mu   sync.Mutex
	file *os.File
	out  *bufio.Writer
	err  error
}

// Create makes the file.
func Create(path string) (*Log, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	return &Log{file: f, out: bufio.NewWriter(f)}, nil
}

// Note writes entries; they are on disk with the next Sync.
func (l *Log) Note(entries ...Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(entries)
}

// Sync writes entries, and returns when they are on disk.
func (l *Log) Sync(entries ...Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(entries)
	if l.err == nil {
		l.err = l.out.Flush()
	}
	if l.err == nil {
		l.err = l.file.Sync()
	}
	return l.err
}

func (l *Log) write(entries []Entry) {
	for _, e := range entries {
		if l.err != nil {
			return
		}
		if e.At.IsZero() {
			e.At = time.Now()
		}
		line, err := json.Marshal(e)
		if err == nil {
			_, err = l.out.Write(append(line, '\n'))
		}
		l.err = err
	}
}

// Close ends the file.
func (l *Log) Close() error {
	err := l.Sync()
	if closed := l.file.Close(); err == nil {
		err = closed
	}
	return err
}

// Read returns the entries of a file.
func Read(path string) ([]Entry, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	defer func() { _ = f.Close() }()
	var all []Entry
	for d := json.NewDecoder(bufio.NewReader(f)); ; {
		var e Entry
		switch err := d.Decode(&e); err {
		case nil:
			all = append(all, e)
		case io.EOF:
			return all, nil
		default:
			return nil, fmt.Errorf("history: line %d: %w", len(all)+1, err)
		}
	}
}
