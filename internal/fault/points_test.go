package fault_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/internal/fault"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/sqlite"
)

func newSource() *memsource.Source { return memsource.New() }

type retaining struct{ message.Subscriber }

func (retaining) Retention() time.Duration { return time.Hour }

type sink struct{ published chan string }

func (s sink) Publish(topic string, ms ...*message.Message) error {
	for range ms {
		s.published <- topic
	}
	return nil
}

func (sink) Close() error { return nil }

// trail remembers points, and dies at one: everything fails from then on.
type trail struct {
	mu     sync.Mutex
	fatal  fault.Point
	dead   bool
	seen   map[fault.Point]int
	reborn chan struct{} // closed at the death
}

var errDead = errors.New("the process is dead")

func newTrail(fatal fault.Point) *trail {
	return &trail{fatal: fatal, seen: make(map[fault.Point]int), reborn: make(chan struct{})}
}

func (tr *trail) at(p fault.Point) error {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.seen[p]++
	if p == tr.fatal && !tr.dead {
		tr.dead = true
		close(tr.reborn)
	}
	if tr.dead {
		return errDead
	}
	return nil
}

func (tr *trail) reached(p fault.Point) int {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.seen[p]
}

// life runs a consumer on st until end is closed.
func life(t *testing.T, st *sqlite.Store, source *memsource.Source, out sink, tr *trail) (stop func()) {
	t.Helper()
	c, err := consumer.New("c", fault.Store(st, tr.at), consumer.Config{
		Source: fault.Subscriber(source, tr.at), Sink: fault.Publisher(out, tr.at), NackPause: time.Millisecond,
		DrainTimeout: 2 * time.Second, Retry: retry.Policy{MaxAttempts: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	consumer.Handle(c, "orders", func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[string]) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO effects (id) VALUES ($1)", m.ID); err != nil {
			return err
		}
		if m.Body == "bad" {
			return retry.Permanent(errors.New("bad"))
		}
		if err := tr.at(fault.MidHandler); err != nil {
			return err
		}
		return tx.Publish(headrace.Event{Topic: "done", Value: m.Body})
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = c.Run(ctx) }()
	return sync.OnceFunc(func() { cancel(); <-ended })
}

// TestDeath: a process that dies at a point acknowledges and commits nothing more, and
// the next one finishes what it left, once.
func TestDeath(t *testing.T) {
	for _, p := range []fault.Point{
		fault.AfterReceive, fault.AfterClaim, fault.MidHandler, fault.BeforeCommit, fault.AfterCommit, fault.AfterAck,
		fault.RelaySelected, fault.RelayPublished, fault.RelayDeleting, fault.RelayAfterCommit,
	} {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			st := open(t, filepath.Join(t.TempDir(), "test.db"), sqlite.Options{Migrate: true})
			if _, err := st.DB().Exec("CREATE TABLE effects (id TEXT)"); err != nil {
				t.Fatal(err)
			}
			out := sink{make(chan string, 100)}
			tr, source := newTrail(p), newSource()
			stop := life(t, st, source, out, tr)
			m := source.Deliver("orders", "1", []byte(`"good"`), nil)
			select {
			case <-tr.reborn:
			case <-time.After(20 * time.Second):
				t.Fatal("the point is never reached")
			}
			stop()
			tr = newTrail("")
			source = newSource()
			stop = life(t, st, source, out, tr)
			defer stop()
			again := source.Deliver("orders", "1", []byte(`"good"`), nil)
			if acked, err := memsource.Outcome(t.Context(), again); !acked || err != nil {
				t.Fatal(acked, err)
			}
			<-out.published
			select {
			case <-m.Nacked():
				t.Error("the dead process gave the message back")
			default:
			}
			wantOne(t, st)
		})
	}
}

func wantOne(t *testing.T, st *sqlite.Store) {
	t.Helper()
	var n int
	if err := st.DB().QueryRow("SELECT count(*) FROM effects").Scan(&n); err != nil || n != 1 {
		t.Errorf("%d effects, %v", n, err)
	}
	if report, err := st.Check(t.Context()); err != nil || !report.OK() {
		t.Errorf("check: %+v, %v", report, err)
	}
}

// TestLetterAndRedrive: the commits of a dead letter and of a redrive have their points.
func TestLetterAndRedrive(t *testing.T) {
	st := open(t, filepath.Join(t.TempDir(), "test.db"), sqlite.Options{Migrate: true})
	if _, err := st.DB().Exec("CREATE TABLE effects (id TEXT)"); err != nil {
		t.Fatal(err)
	}
	tr, source := newTrail(""), newSource()
	stop := life(t, st, source, sink{make(chan string, 100)}, tr)
	m := source.Deliver("orders", "1", []byte(`"bad"`), nil)
	if acked, err := memsource.Outcome(t.Context(), m); !acked || err != nil {
		t.Fatal(acked, err)
	}
	stop()
	if tr.reached(fault.LetterBeforeCommit) != 1 || tr.reached(fault.LetterAfterCommit) != 1 {
		t.Errorf("the letter: %v", tr.seen)
	}
	for _, p := range []fault.Point{fault.RedriveBeforeCommit, fault.RedriveAfterCommit} {
		want := map[fault.Point]int64{fault.RedriveBeforeCommit: 1}[p]
		tr = newTrail(p)
		all := redrive.Request{By: "test", Filter: dlq.Filter{Consumer: "c"}}
		// After the commit the admin may still read that it happened.
		_, err := redrive.New(fault.Store(st, tr.at)).Redrive(t.Context(), all)
		if p == fault.RedriveBeforeCommit && !errors.Is(err, errDead) || tr.reached(p) == 0 {
			t.Errorf("%s: the redrive survives: %v", p, err)
		}
		if n, err := st.Letters().Count(t.Context(), dlq.Filter{State: dlq.Open}); n != want || err != nil {
			t.Errorf("%s: %d open letters, %v", p, n, err)
		}
	}
}
