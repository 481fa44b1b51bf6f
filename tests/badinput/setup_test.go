package badinput

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.uber.org/goleak"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/codec"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bundle is a store with one consumer's source and what it leaves behind.
type bundle struct {
	*testing.T
	st    store.Store
	db    *sql.DB
	kind  string
	src   *memsource.Source
	admin *redrive.Admin
}

// onEachStore runs f on SQLite and on PostgreSQL, and then the invariants.
func onEachStore(t *testing.T, f func(*bundle)) {
	for kind, open := range map[string]func(*testing.T) (store.Store, *sql.DB){"sqlite": openSQLite, "postgres": openPostgres} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			st, db := open(t)
			b := &bundle{T: t, st: st, db: db, kind: kind, src: memsource.New(), admin: redrive.New(st)}
			b.exec("CREATE TABLE effects (msg TEXT NOT NULL, sum TEXT NOT NULL, attempt INTEGER NOT NULL, trace TEXT NOT NULL)")
			f(b)
			report, err := st.(store.Checker).Check(context.Background())
			if err != nil || !report.OK() {
				t.Errorf("check: %+v, %v", report, err)
			}
		})
	}
}

func openSQLite(t *testing.T) (store.Store, *sql.DB) {
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "bad.db"), sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st, st.DB()
}

func openPostgres(t *testing.T) (store.Store, *sql.DB) {
	dsn, schema := pgstore.New(t)
	return pgstore.Open(t, dsn, postgres.Options{Schema: schema, Migrate: true}), pgtest.OpenDB(t, "postgres", dsn)
}

func (b *bundle) exec(query string, args ...any) {
	b.Helper()
	if _, err := b.db.ExecContext(b.Context(), query, args...); err != nil {
		b.Fatalf("%s: %v", query, err)
	}
}

func (b *bundle) config() consumer.Config {
	return consumer.Config{
		Source: b.src, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Retry: retry.Policy{MaxAttempts: 2, Backoff: retry.Backoff{Initial: time.Millisecond, Max: time.Millisecond, Factor: 1}},
	}
}

// run runs c until the returned function is called.
func (b *bundle) run(c *consumer.Consumer) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	return func() {
		b.Helper()
		cancel()
		if err := <-ended; err != nil {
			b.Errorf("Run: %v", err)
		}
	}
}

func sumOf(payload []byte) string {
	sum := sha256.Sum256(payload)
	return hex.EncodeToString(sum[:])
}

// order is what the handlers of topic json read.
type order struct {
	ID string    `json:"id"`
	N  int64     `json:"n"`
	F  float64   `json:"f"`
	At time.Time `json:"at"`
}

// Topics, each with a handler.
const (
	raw    = "raw"    // takes any bytes
	inJSON = "json"   // decodes into order
	refuse = "refuse" // takes any bytes and refuses them for good
	proto  = "proto"  // has a codec of the user's
	byJSON = "byjson" // has its key from the payload
)

// apply is the effect of every handler: the hash of the bytes that it was given.
func apply[T any](ctx context.Context, tx *headrace.Tx, m *headrace.Message[T]) error {
	trace := m.Trace.Parent + m.Trace.State
	_, err := tx.ExecContext(ctx, "INSERT INTO effects (msg, sum, attempt, trace) VALUES ($1, $2, $3, $4)", m.Key, sumOf(m.Payload), m.Attempt, trace)
	return err
}

var errRefused = errors.New("this is refused")

// handlers registers one handler for each topic.
func handlers(c *consumer.Consumer) {
	consumer.Handle(c, raw, apply[[]byte], consumer.Codec(codec.Raw()))
	consumer.Handle(c, inJSON, apply[order])
	consumer.Handle(c, refuse, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[[]byte]) error {
		if err := apply(ctx, tx, m); err != nil {
			return err
		}
		return retry.Permanent(errRefused)
	}, consumer.Codec(codec.Raw()))
	consumer.Handle(c, proto, apply[[]byte], consumer.Codec(schemaCodec{codec.Raw()}))
	consumer.Handle(c, byJSON, apply[[]byte], consumer.Codec(codec.Raw()), consumer.Key(jsonKey))
}

// state is what there is of effects and letters.
type state struct {
	effects int
	letters int
}

func (b *bundle) state() (s state) {
	b.Helper()
	if err := b.db.QueryRowContext(b.Context(), "SELECT count(*) FROM effects").Scan(&s.effects); err != nil {
		b.Fatal(err)
	}
	n, err := b.admin.Count(b.Context(), dlq.Filter{AnyState: true})
	if err != nil {
		b.Fatal(err)
	}
	s.letters = int(n)
	return s
}

// newest returns the newest letter whole.
func (b *bundle) newest() dlq.Letter {
	b.Helper()
	list, err := b.admin.List(b.Context(), dlq.Filter{AnyState: true}, 0, 1)
	if err != nil || len(list) != 1 {
		b.Fatalf("list: %d letters, %v", len(list), err)
	}
	detail, err := b.admin.Show(b.Context(), list[0].LetterID)
	if err != nil {
		b.Fatal(err)
	}
	return detail.Letter
}

// send delivers m and waits for its acknowledgement.
func (b *bundle) send(t *testing.T, topic string, m *message.Message) {
	t.Helper()
	b.src.DeliverMessage(topic, m)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if acked, err := memsource.Outcome(ctx, m); err != nil || !acked {
		t.Fatalf("acknowledged %t, %v", acked, err)
	}
}

// sameLetter checks that l keeps what was sent, byte for byte.
func sameLetter(t *testing.T, l dlq.Letter, payload []byte, metadata map[string]string) {
	t.Helper()
	if !bytes.Equal(l.Delivery.Payload, payload) {
		t.Errorf("the letter has %d bytes %.60q, want %d %.60q", len(l.Delivery.Payload), l.Delivery.Payload, len(payload), payload)
	}
	if metadata == nil {
		metadata = map[string]string{}
	}
	if !maps.Equal(l.Delivery.Metadata, metadata) {
		t.Errorf("the letter has other headers: %d, want %d", len(l.Delivery.Metadata), len(metadata))
	}
}
