package consumertest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
	"github.com/headrace/headrace/webhook"
)

// Kit is a test of one consumer. Make one with New. Only the goroutine of the test may
// call its methods. Those that assert or wait end the test or mark it as failed, and show
// the expectation, the rows of the tables and what happened.
type Kit struct {
	t testing.TB
	// idleTimeout is how long Settle and Post wait without any progress.
	idleTimeout time.Duration
	place       *place
	wire        Wire
	broker      *broker
	story       *story
	pulse       *pulse

	supervisors sync.WaitGroup
	committing  atomic.Int64 // commits under way
	locked      atomic.Bool  // a handler did not get SQLite's write lock
	late        atomic.Bool  // a handler on SQLite ran out of time

	mu        sync.Mutex
	slots     map[int]*process
	count     int                  // processes so far
	consumers []*consumer.Consumer // of the newest process
	failed    error                // why the test cannot go on
	told      bool                 // and that the test was told
	stopping  bool
	ended     bool // nothing is logged any more

	crashes       []Point
	faults        []*injected
	deadInstances map[string]bool
	moved         map[*txn.Txn]bool
	rows          map[int64]inbox.ID
	delays        map[inbox.ID][]time.Duration
	postponed     map[inbox.ID]time.Duration // since its latest attempt
	systems       map[*System]bool           // that steps have called
	runs          map[inbox.ID][]run
	expired       map[stepID]bool          // signals whose time is over for the processes
	database      string                   // its id, once it is known
	first         map[string]firstCall     // of steps, by idempotency key
	called        map[string]time.Duration // when they began, by Row.CallID: see elapsed
	published     []Event
	relayed       map[string]string // the order keys of events from the outbox
	toldLines     map[string]bool   // lines of consumers that do not run here; of the test's goroutine
}

// New prepares a test on a new database. Nothing runs yet: create tables with Exec. The
// first message starts the first process. At the end of the test the kit stops
// everything, checks the invariants that the tables show (store.Checker), and removes the
// database.
func New(t testing.TB, database Database, wire Wire) *Kit {
	t.Helper()
	if database.make == nil {
		t.Fatalf("consumertest.New: the Database is the zero value: use SQLite(), Postgres(dsn) or PostgresDB(db)")
	}
	if wire == nil {
		t.Fatalf("consumertest.New: the Wire is nil")
	}
	k := &Kit{
		t: t, idleTimeout: idleTimeout, place: database.make(t), wire: wire, story: new(story), pulse: newPulse(), slots: make(map[int]*process),
		deadInstances: make(map[string]bool), moved: make(map[*txn.Txn]bool), rows: make(map[int64]inbox.ID),
		delays: make(map[inbox.ID][]time.Duration), postponed: make(map[inbox.ID]time.Duration), systems: make(map[*System]bool), runs: make(map[inbox.ID][]run), expired: make(map[stepID]bool), first: make(map[string]firstCall), called: make(map[string]time.Duration), relayed: make(map[string]string), toldLines: make(map[string]bool),
	}
	k.broker = newBroker(k.story, k.pulse)
	t.Cleanup(k.end)
	return k
}

// DB is the database of the test, for your own statements. On SQLite a statement that
// writes waits for the consumer's transactions.
func (k *Kit) DB() *sql.DB { return k.place.db }

// Schema is the name of the test's schema on PostgreSQL, which needs no quotes; "" on
// SQLite.
func (k *Kit) Schema() string { return k.place.schema }

// Exec runs a statement on the test's tables. It ends the test if the statement fails.
func (k *Kit) Exec(query string, args ...any) {
	k.t.Helper()
	err := k.within(false, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, query, args...)
		return err
	})
	if err != nil {
		k.t.Fatalf("Exec: %v\n\t%s", err, query)
	}
}

// Count returns the number that query gives. It ends the test if there is none.
func (k *Kit) Count(query string, args ...any) int {
	k.t.Helper()
	n, err := k.number(query, args)
	if err != nil {
		k.t.Fatalf("Count: %v\n\t%s", err, query)
	}
	return n
}

func (k *Kit) number(query string, args []any) (n int, err error) {
	err = k.within(true, func(ctx context.Context, tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, query, args...).Scan(&n)
	})
	return n, err
}

// statementTime bounds a statement of the test.
const statementTime = 30 * time.Second

// within runs f in a transaction that has the test's schema first. A transaction that
// only reads does not wait for others.
func (k *Kit) within(reads bool, f func(ctx context.Context, tx *sql.Tx) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), statementTime)
	defer cancel()
	tx, err := k.place.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: reads})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if k.place.path != "" {
		if _, err := tx.ExecContext(ctx, k.place.path, k.place.schema+",public"); err != nil {
			return err
		}
	}
	if err := f(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

// Deliver hands each of the messages to the broker, which delivers them to the running
// process. It does not wait: see Settle. To deliver a message several times, pass it
// several times. It ends the test if no handler takes the topic of a message from the
// broker, or if the topic is that of a webhook: see Post.
func (k *Kit) Deliver(ms ...Message) {
	k.t.Helper()
	k.start(1)
	for _, m := range ms {
		k.checkBroker(m)
		k.broker.send(m)
	}
}

// DeliverAtOnce delivers m once to each of n processes at the same time. It starts the
// missing processes; all run until the test ends.
//
// It tests the claim: the handler runs in one process, and the others find the message
// claimed. It does not find an effect outside of the transaction, because the handler
// runs once here too. FailAttempt with AfterEffects, CrashAt(MidHandler) and
// CrashAt(BeforeCommit) find one.
func (k *Kit) DeliverAtOnce(n int, m Message) {
	k.t.Helper()
	if n < 1 {
		k.t.Fatalf("DeliverAtOnce: n is %d: it must be at least 1", n)
	}
	k.start(n)
	k.checkBroker(m)
	k.broker.sendTogether(m, n)
}

// Redeliver waits until everything delivered so far has settled, delivers m again, and
// waits until that has settled too.
func (k *Kit) Redeliver(m Message) {
	k.t.Helper()
	k.Settle()
	k.Deliver(m)
	k.Settle()
}

// checkBroker is check for what the kit's broker delivers. It ends the test for webhooks too.
func (k *Kit) checkBroker(m Message) {
	k.t.Helper()
	k.check(m, false)
	k.mu.Lock()
	consumers := k.consumers
	k.mu.Unlock()
	posted := false
	for _, c := range consumers {
		for _, h := range c.Runtime().Handlers() {
			if h.Topic != m.Topic && h.Topic != "" || h.Source == nil {
				continue
			}
			if _, hook := h.Source.(*webhook.Source); !hook {
				return
			}
			posted = true
		}
	}
	if posted {
		k.t.Fatalf("topic %q is that of a webhook, and comes from no broker: send it with Kit.Post, to the path of its endpoint: %s", m.Topic, m)
	}
}

// check ends the test if no broker's handler takes m, as far as a process shows that started; nor, if events, a local
// one.
func (k *Kit) check(m Message, events bool) {
	k.t.Helper()
	if m.Topic == "" {
		k.t.Fatalf("the Message has no Topic, which says which handler gets it: %s", m)
	}
	k.mu.Lock()
	consumers := k.consumers
	k.mu.Unlock()
	if len(consumers) == 0 {
		return
	}
	var topics, local []string
	for _, c := range consumers {
		for _, h := range c.Runtime().Handlers() {
			switch {
			case h.Topic == m.Topic && (events || h.Source != nil), h.Topic == "": // a Router's handlers do not tell their topics
				return
			case h.Source == nil:
				local = append(local, h.Topic)
			default:
				topics = append(topics, h.Topic)
			}
		}
	}
	hint := fmt.Sprintf("there are handlers for %q", topics)
	if slices.Contains(local, m.Topic) {
		hint = "its handler is Local and gets events: see Kit.Publish"
	}
	k.t.Fatalf("no handler takes the topic %q from the broker: %s", m.Topic, hint)
}

// start starts processes until n run.
func (k *Kit) start(n int) {
	k.t.Helper()
	for slot := range n {
		k.mu.Lock()
		p, failed := k.slots[slot], k.failed
		k.mu.Unlock()
		if failed != nil {
			k.t.Fatalf("%v\n%s", failed, k.tell())
		}
		if p != nil {
			continue
		}
		if err := k.boot(slot); err != nil {
			k.t.Fatalf("%v", err)
		}
	}
}

// end stops everything and checks what is left.
func (k *Kit) end() {
	k.t.Helper()
	k.mu.Lock()
	k.stopping = true
	for _, p := range k.slots {
		p.stop()
	}
	k.mu.Unlock()
	k.supervisors.Wait()
	unmet := k.unmet()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended = true
	for _, fault := range unmet {
		k.t.Errorf("%s\n%s", fault, k.tell())
	}
	if k.failed != nil && !k.told {
		k.t.Errorf("%v\n%s", k.failed, k.tell())
	}
	for _, p := range k.crashes {
		k.t.Errorf("CrashAt(%q): no process reached this point\n%s", p, k.tell())
	}
	for _, f := range k.faults {
		if !f.happened {
			k.t.Errorf("FailAttempt: there was no attempt %d of %s\n%s", f.attempt, f.m, k.tell())
		}
	}
	if err := k.invariants(); err != nil {
		k.t.Errorf("%v\n%s", err, k.tell())
	}
}

// invariants checks the invariants that the tables show.
func (k *Kit) invariants() error {
	ctx, cancel := context.WithTimeout(context.Background(), statementTime)
	defer cancel()
	report, err := k.place.kit.Check(ctx)
	if err != nil {
		return fmt.Errorf("check the invariants: %w", err)
	}
	for _, rule := range report.Rules {
		if rule.Violations > 0 {
			err = errors.Join(err, fmt.Errorf("invariant broken: %s: %d times, for example %s", rule.Says, rule.Violations, rule.Example))
		}
	}
	return err
}

func trimmed(line []byte) string { return string(bytes.TrimSpace(line)) }
