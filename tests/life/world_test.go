package life

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	wm "github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
)

const (
	topic      = "orders"
	unreadable = `{"n":`

	// waitTimeout is how long a message may take to come where it belongs. While a failure
	// is shrunk it is shorter: most tries fail.
	waitTimeout = time.Minute
	shrinking   = 2 * time.Second
)

// payloads may all come under one id.
var payloads = []string{`{"n":1}`, `{"n":2}`, unreadable}

// database is a store with what the test does to it from outside.
type database struct {
	st store.Store
	db *sql.DB
	// age and due move everything of a key ($1 scope, $2 key) into the past.
	age, due []string
}

func onSQLite(t *testing.T) *database {
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "life.db"), sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	const long = "1000 * 3600000000"
	return &database{st: st, db: st.DB(), age: aging(long), due: []string{"UPDATE headrace_backlog SET due_at = due_at - " + long + " WHERE scope = $1 AND key = $2"}}
}

func onPostgres(t *testing.T) *database {
	dsn, schema := pgstore.New(t)
	st := pgstore.Open(t, dsn, postgres.Options{Schema: schema, Migrate: true})
	const long = "interval '1000 hours'"
	return &database{st: st, db: pgtest.OpenDB(t, "postgres", dsn), age: aging(long),
		due: []string{"UPDATE headrace_backlog SET due_at = due_at - " + long + " WHERE scope = $1 AND key = $2"}}
}

func aging(long string) []string {
	return []string{
		"UPDATE headrace_inbox SET changed_at = changed_at - " + long + " WHERE scope = $1 AND key = $2",
		"UPDATE headrace_dead_letters SET changed_at = changed_at - " + long + " WHERE scope = $1 AND key = $2",
	}
}

// world is one consumer of the database.
type world struct {
	*database
	ctx     context.Context
	name    string
	kind    kind
	src     *memsource.Source
	stop    context.CancelFunc
	stopped chan error

	mu      sync.Mutex
	scripts map[string]*script
	runs    map[string]int
}

// kind is how the handler is registered.
type kind struct {
	handler string // handle, batch, alone, intake, leased
	strict  bool
}

var policy = retry.Policy{MaxAttempts: maxAttempts, Immediate: immediate, Backoff: retry.Backoff{Initial: time.Millisecond, Max: time.Millisecond, Factor: 1}}

var errWork = errors.New("the work failed")

// start runs a consumer of the world's name, as a process does that was just started.
func (w *world) start() error {
	w.src = memsource.New()
	config := consumer.Config{
		Source: w.src, Retry: policy, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Strict: w.kind.strict,
		OrderKey:  func(d *headrace.Delivery) string { return d.ID },
		Retention: inbox.Retention{Off: true},
	}
	c, err := consumer.New(w.name, w.st, config)
	if err != nil {
		return err
	}
	switch w.kind.handler {
	case "handle":
		consumer.Handle(c, topic, w.handle)
	case "alone":
		consumer.Handle(c, topic, w.handle, consumer.Alone())
	case "intake":
		consumer.Handle(c, topic, w.handle, consumer.Intake())
	case "batch":
		consumer.HandleBatch(c, topic, w.batch)
	case "leased":
		consumer.HandleLeased(c, topic, w.leased)
	}
	ctx, cancel := context.WithCancel(w.ctx)
	w.stop, w.stopped = cancel, make(chan error, 1)
	go func() { w.stopped <- c.Run(ctx) }()
	return nil
}

func (w *world) halt() error {
	w.stop()
	return <-w.stopped
}

type body struct {
	N int `json:"n"`
}

func (w *world) handle(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
	return w.effect(ctx, tx, m.Key)
}

func (w *world) batch(ctx context.Context, tx *headrace.Tx, ms []*headrace.Message[body]) error {
	failed := consumer.BatchError{}
	for i, m := range ms {
		if err := w.effect(ctx, tx, m.Key); err != nil {
			failed[i] = err
		}
	}
	if len(failed) > 0 {
		return failed
	}
	return nil
}

// leased does its work outside: a run is counted there, and fails there or at the end.
func (w *world) leased(_ context.Context, m *headrace.Message[body]) (headrace.Effects, error) {
	return func(ctx context.Context, tx *headrace.Tx) error { return w.effect(ctx, tx, m.Key) }, nil
}

// effect writes what the handler writes, and then does what the script says.
func (w *world) effect(ctx context.Context, tx *headrace.Tx, key string) error {
	w.mu.Lock()
	w.runs[key]++
	o := w.scripts[key].next()
	w.mu.Unlock()
	if _, err := tx.ExecContext(ctx, "INSERT INTO effects (consumer, msg) VALUES ($1, $2)", w.name, key); err != nil {
		return err
	}
	switch o {
	case fail:
		return errWork
	case panics:
		panic("the work panicked")
	case give:
		return retry.Permanent(errWork)
	case putOff:
		return retry.After(100*time.Hour, errWork)
	case stale:
		return inbox.ErrStale
	}
	return nil
}

func (w *world) script(key string, s script) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.scripts[key] = &s
}

// deliver hands over all payloads under one id, and waits for every acknowledgement.
func (w *world) deliver(key string, payloads ...string) error {
	var ms []*wm.Message
	for _, p := range payloads {
		ms = append(ms, w.src.Deliver(topic, key, []byte(p), nil))
	}
	ctx, cancel := context.WithTimeout(w.ctx, waitTimeout)
	defer cancel()
	for _, m := range ms {
		if acked, err := memsource.Outcome(ctx, m); err != nil || !acked {
			return fmt.Errorf("delivery of %s: acknowledged %t, %w", m.Payload, acked, err)
		}
	}
	return nil
}

func (w *world) exec(queries []string, key string) error {
	for _, q := range queries {
		if _, err := w.db.ExecContext(w.ctx, q, w.scope(), key); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) scope() string { return w.name + "/" + topic }

// look reads where a message is, in the words of the model.
func (w *world) look(key string) (*message, error) {
	m := new(message)
	rows, err := w.st.Inbox().Find(w.ctx, key)
	if err != nil {
		return nil, err
	}
	for _, e := range rows {
		if e.Scope == w.scope() {
			m.state, m.stale, m.payload = e.State, e.Stale, payloadOf(e.Fingerprint)
		}
	}
	attempts, err := w.st.Inbox().Attempts(w.ctx, inbox.ID{Scope: w.scope(), Key: key})
	if err != nil {
		return nil, err
	}
	m.attempts = len(attempts)
	letters, err := redrive.New(w.st).List(w.ctx, dlq.Filter{Consumer: w.name, Key: key, AnyState: true}, 0, 1000)
	if err != nil {
		return nil, err
	}
	for _, l := range letters {
		m.letters = append(m.letters, paper{class: l.Class, state: l.State, payload: payloadOf(l.Delivery.Fingerprint)})
	}
	w.mu.Lock()
	m.runs = w.runs[key]
	w.mu.Unlock()
	err = w.db.QueryRowContext(w.ctx, "SELECT count(*) FROM effects WHERE consumer = $1 AND msg = $2", w.name, key).Scan(&m.effects)
	return m, err
}

// payloadOf says which of the payloads has a fingerprint.
func payloadOf(print string) string {
	i := slices.IndexFunc(payloads, func(p string) bool {
		got, err := inbox.Payload()(&headrace.Delivery{Payload: []byte(p)})
		return err == nil && got == print
	})
	if i < 0 {
		return "?"
	}
	return payloads[i]
}
