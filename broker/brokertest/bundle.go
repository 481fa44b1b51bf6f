package brokertest

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/store/sqlite"
)

// waitTimeout bounds each wait. A starting broker may be slow: one in Java took more than
// half a minute on a busy machine.
const waitTimeout = 3 * time.Minute

// bundle is what a scenario works with: a topic, a database, and the consumers on them.
type bundle struct {
	*testing.T
	b     Broker
	f     Features
	topic string
	// topics are those that create has made.
	topics []string
	path   string // of the database
	st     *sqlite.Store
	db     *sql.DB
	// workers are the running workers.
	workers []*worker
}

// body is the payload of a scenario's messages.
type body struct {
	N int `json:"n"`
}

func newBundle(t *testing.T, b Broker) *bundle {
	t.Helper()
	s := &bundle{T: t, b: b, f: b.Features(), path: filepath.Join(t.TempDir(), "test.db")}
	s.st, s.db = s.open()
	if _, err := s.db.ExecContext(t.Context(), "CREATE TABLE effects (n INTEGER NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	s.topic = s.newTopic()
	s.create(s.topic)
	t.Cleanup(s.close)
	return s
}

// open opens the database again, as another process does.
func (s *bundle) open() (*sqlite.Store, *sql.DB) {
	s.Helper()
	st, err := sqlite.Open(s.Context(), s.path, sqlite.Options{Migrate: true})
	if err != nil {
		s.Fatal(err)
	}
	return st, st.DB()
}

// close stops the workers and checks the invariants.
func (s *bundle) close() {
	for _, w := range s.workers {
		w.halt()
	}
	s.remove()
	report, err := s.st.Check(context.Background())
	if err != nil {
		s.Errorf("check: %v", err)
	}
	for _, rule := range report.Rules {
		if rule.Violations > 0 {
			s.Errorf("invariant broken: %s: %d times, for example %s", rule.Says, rule.Violations, rule.Example)
		}
	}
	if err := s.st.Close(); err != nil {
		s.Errorf("close the database: %v", err)
	}
}

func (s *bundle) newTopic() string { return "hr-" + s.f.Name + "-" + strings.ToLower(rand.Text()[:10]) }

func (s *bundle) create(topic string) {
	s.Helper()
	ctx, cancel := s.bounded()
	defer cancel()
	if err := s.b.Create(ctx, topic); err != nil {
		s.Fatalf("create %s: %v", topic, err)
	}
	s.topics = append(s.topics, topic)
}

// remove deletes what create has made: a server works for each topic that is left.
func (s *bundle) remove() {
	if s.f.Delete == nil {
		return
	}
	ctx, cancel := s.bounded()
	defer cancel()
	for _, topic := range s.topics {
		if err := s.f.Delete(ctx, topic); err != nil {
			s.Logf("delete %s: %v", topic, err) // some scenarios have deleted theirs
		}
	}
}

func (s *bundle) bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), waitTimeout)
}

// send sends records of a foreign sender.
func (s *bundle) send(records ...Record) {
	s.Helper()
	ctx, cancel := s.bounded()
	defer cancel()
	if err := s.b.Send(ctx, s.topic, records...); err != nil {
		s.Fatalf("send: %v", err)
	}
}

// sendNumbers sends first to last, without ids and headers.
func (s *bundle) sendNumbers(first, last int) {
	s.Helper()
	var records []Record
	for n := first; n <= last; n++ {
		records = append(records, Record{Payload: bodyOf(n)})
	}
	s.send(records...)
}

func bodyOf(n int) []byte {
	b, err := json.Marshal(body{n})
	if err != nil {
		panic(err)
	}
	return b
}

// source returns one of our sources, closed at the end.
func (s *bundle) source(addr string) message.Subscriber {
	s.Helper()
	source, err := s.b.Source(addr)
	if err != nil {
		s.Fatalf("source: %v", err)
	}
	s.Cleanup(func() { s.closed("source", source.Close) })
	return source
}

// sink returns one of our sinks, closed at the end.
func (s *bundle) sink(addr string) message.Publisher {
	s.Helper()
	sink, err := s.b.Sink(addr)
	if err != nil {
		s.Fatalf("sink: %v", err)
	}
	s.Cleanup(func() { s.closed("sink", sink.Close) })
	return sink
}

func (s *bundle) closed(what string, closing func() error) {
	s.Helper()
	done := make(chan error, 1)
	go func() { done <- closing() }()
	select {
	case err := <-done:
		if err != nil {
			s.Errorf("close the %s: %v", what, err)
		}
	case <-time.After(waitTimeout):
		s.Errorf("the %s cannot be closed", what)
	}
}

// appliedOnce waits until 1 to n have their effects and nothing is left on the broker,
// and checks that each effect exists once.
func (s *bundle) appliedOnce(n int) {
	s.Helper()
	s.eventually(fmt.Sprintf("%d effects", n), func() (string, bool) {
		got := s.count("SELECT count(DISTINCT n) FROM effects WHERE n BETWEEN 1 AND $1", n)
		return fmt.Sprint(got, " effects"), got >= n
	})
	s.nothingLeft()
	if twice := s.count("SELECT count(*) FROM (SELECT n FROM effects GROUP BY n HAVING count(*) > 1)"); twice > 0 {
		s.Errorf("%d messages were applied more than once", twice)
	}
	if all := s.count("SELECT count(*) FROM effects"); all != n {
		s.Errorf("%d effects of %d messages", all, n)
	}
}

// nothingLeft waits until the broker has no messages for our sources.
func (s *bundle) nothingLeft() {
	s.Helper()
	s.eventually("nothing left on the broker", func() (string, bool) {
		ctx, cancel := s.bounded()
		defer cancel()
		left, err := s.b.Left(ctx, s.topic)
		if err != nil {
			return err.Error(), false
		}
		return fmt.Sprint(left, " left"), left == 0
	})
}

// undecodable waits for n undecodable dead letters and returns them; there must be no
// others.
func (s *bundle) undecodable(n int) []dlq.Letter {
	s.Helper()
	letters := s.letters(n)
	for _, l := range letters {
		if l.Class != dlq.Undecodable {
			s.Errorf("letter %d is %s: %s", l.LetterID, l.Class, l.Error)
		}
	}
	return letters
}

// letters waits for n dead letters.
func (s *bundle) letters(n int) []dlq.Letter {
	s.Helper()
	var letters []dlq.Letter
	s.eventually(fmt.Sprintf("%d dead letters", n), func() (string, bool) {
		var err error
		if letters, err = s.st.Letters().List(context.Background(), dlq.Filter{}, 0, 1000); err != nil {
			return err.Error(), false
		}
		return fmt.Sprint(len(letters), " letters"), len(letters) >= n
	})
	if len(letters) != n {
		s.Errorf("%d dead letters, want %d", len(letters), n)
	}
	for i, l := range letters { // a list has no payloads
		whole, err := s.st.Letters().Get(context.Background(), l.LetterID)
		if err != nil {
			s.Fatal(err)
		}
		letters[i] = whole
	}
	return letters
}

func hasPayload(letters []dlq.Letter, payload []byte) bool {
	for _, l := range letters {
		if bytes.Equal(l.Delivery.Payload, payload) {
			return true
		}
	}
	return false
}

// eventually waits until done, which also returns its progress.
func (s *bundle) eventually(what string, done func() (string, bool)) {
	s.Helper()
	deadline := time.Now().Add(waitTimeout)
	for {
		got, ok := done()
		if ok {
			return
		}
		s.alive()
		if time.Now().After(deadline) {
			s.Fatalf("did not come: %s; there are %s", what, got)
		}
		time.Sleep(20 * time.Millisecond) // a broker gives no signal
	}
}

func (s *bundle) count(query string, args ...any) int {
	s.Helper()
	var n int
	if err := s.db.QueryRowContext(context.Background(), query, args...).Scan(&n); err != nil {
		s.Fatalf("%s: %v", query, err)
	}
	return n
}
