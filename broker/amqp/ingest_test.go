package amqp_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/broker/amqp"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/from"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/fault"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
)

// deadLetters is a consumer of a queue and of that in which the broker puts what was rejected.
type deadLetters struct {
	*bundle
	st store.Store
	db *sql.DB
}

// ingestion is what a process needs to be that consumer.
type ingestion struct{ Path, URL, Queue string }

func setupIngest(t *testing.T, st store.Store, db *sql.DB) *deadLetters {
	b := &deadLetters{setup(t), st, db}
	dead := &bundle{T: b.T, ctx: b.ctx, url: b.url, queue: b.queue + ".dead", admin: b.admin, log: b.log}
	dead.declare(amqp.Quorum, nil)
	b.declare(amqp.Classic, amqp091.Table{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead.queue})
	_, err := db.ExecContext(b.ctx, "CREATE TABLE effects (id TEXT NOT NULL)")
	b.must(err)
	t.Cleanup(func() {
		report, err := st.(store.Checker).Check(context.Background())
		b.must(err)
		for _, rule := range report.Rules {
			if rule.Violations > 0 {
				t.Errorf("invariant broken: %s: %d times, for example %s", rule.Says, rule.Violations, rule.Example)
			}
		}
	})
	return b
}

func onSQLite(t *testing.T, path string) (store.Store, *sql.DB) {
	t.Helper()
	st, err := sqlite.Open(t.Context(), path, sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st, st.DB()
}

func onPostgres(t *testing.T) (store.Store, *sql.DB) {
	t.Helper()
	dsn, schema := pgstore.New(t)
	st := pgstore.Open(t, dsn, postgres.Options{Schema: schema, Migrate: true})
	return st, st.DB()
}

// reject has the broker give up what is sent.
func (b *deadLetters) reject(sent ...amqp091.Publishing) {
	b.Helper()
	for _, p := range sent {
		b.send(p)
		b.eventually("a message to reject", func() bool {
			d, ok, err := b.admin.Get(b.queue, false)
			b.must(err)
			if ok {
				b.must(d.Nack(false, false))
			}
			return ok
		})
	}
}

func paid(id string) amqp091.Publishing {
	return amqp091.Publishing{Body: []byte(`{"id":"` + id + `"}`)}
}

type order struct {
	ID string `json:"id"`
}

// newIngesting returns the consumer, which gets source's messages of the queue and dead ones.
func newIngesting(st store.Store, queue string, source *amqp.Source) (*consumer.Consumer, error) {
	c, err := consumer.New("billing", st, consumer.Config{Source: source, Key: inbox.JSON("id"), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	consumer.Handle(c, queue, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO effects (id) VALUES ($1)", m.Body.ID)
		return err
	}, consumer.Ingest(queue+".dead", source, from.RabbitMQ()))
	return c, nil
}

// start runs the consumer; stop ends it.
func (b *deadLetters) start() (c *consumer.Consumer, stop func()) {
	b.Helper()
	c, err := newIngesting(b.st, b.queue, b.source(unlimited(b.server())))
	b.must(err)
	ctx, cancel := context.WithCancel(b.ctx)
	ended := make(chan error, 1)
	go func() {
		err := c.Run(ctx)
		if err != nil {
			b.Logf("Run: %v", err) // what waits for it in vain does not say why
		}
		ended <- err
	}()
	stop = func() {
		cancel()
		if err := <-ended; err != nil {
			b.Errorf("Run: %v", err)
		}
		ended <- nil
	}
	b.Cleanup(stop)
	return c, stop
}

// effects are the messages that were applied, in order.
func (b *deadLetters) effects() string {
	b.Helper()
	var ids []string
	rows, err := b.db.QueryContext(b.ctx, "SELECT id FROM effects ORDER BY id")
	b.must(err)
	for rows.Next() {
		var id string
		b.must(rows.Scan(&id))
		ids = append(ids, id)
	}
	b.must(rows.Err())
	return strings.Join(ids, " ")
}

// What the broker gave up becomes a dead letter unless it was applied, with what the broker says
// of it. It is applied once after a redrive, and a delivery of its key is a duplicate.
//
//evidence:ingest
func TestIngest(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		st, db := onSQLite(t, filepath.Join(t.TempDir(), "test.db"))
		ingest(setupIngest(t, st, db))
	})
	t.Run("postgres", func(t *testing.T) {
		st, db := onPostgres(t)
		ingest(setupIngest(t, st, db))
	})
}

func ingest(b *deadLetters) {
	b.send(paid("applied"))
	c, stop := b.start()
	b.eventually("the message is applied", func() bool { return c.Stats().Applied == 1 })
	stop()

	b.reject(paid("applied"), paid("lost"), amqp091.Publishing{Body: []byte(`{}`)})
	c, _ = b.start()
	b.eventually("the dead letters are read", func() bool { s := c.Stats(); return s.Dead == 2 && s.Duplicates == 1 })

	admin := redrive.New(b.st)
	letters, err := admin.List(b.ctx, dlq.Filter{Class: dlq.Ingested}, 0, 10)
	b.must(err)
	slices.SortFunc(letters, func(a, b dlq.Letter) int { return strings.Compare(a.Delivery.Key, b.Delivery.Key) })
	if len(letters) != 2 || letters[0].Delivery.Key != "lost" || !inbox.IsStandIn(letters[1].Delivery.Key) {
		b.Fatalf("letters: %+v", letters)
	}
	lost, err := admin.Show(b.ctx, letters[0].LetterID)
	b.must(err)
	if l := lost.Letter; l.Delivery.Topic != b.queue || l.Delivery.Metadata[amqp.RoutingKeyKey] != "" || l.Delivery.Coordinates.Topic != b.queue ||
		!strings.HasPrefix(l.Error, "rejected (given up by RabbitMQ, from "+b.queue+", count 1, first at 20") {
		b.Errorf("the letter is %+v", l)
	}

	b.send(paid("lost"))
	b.eventually("a delivery of its key is a duplicate", func() bool { return c.Stats().Duplicates == 2 })
	if got := b.effects(); got != "applied" {
		b.Errorf("before the redrive: %s", got)
	}
	_, err = admin.Redrive(b.ctx, redrive.Request{Filter: dlq.Filter{Key: "lost"}, By: "ann", Reason: "test"})
	b.must(err)
	b.eventually("the letter is applied", func() bool { return c.Stats().BacklogApplied == 1 })
	if got := b.effects(); got != "applied lost" {
		b.Errorf("after the redrive: %s", got)
	}
}

// ingestVariable holds the ingestion of a process that ends itself after the commit of a letter.
const ingestVariable = "HEADRACE_AMQP_INGEST_CHILD"

// ingestAndDie is that process.
func ingestAndDie(text string) error {
	var in ingestion
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	st, err := sqlite.Open(ctx, in.Path, sqlite.Options{})
	if err != nil {
		return err
	}
	source, err := amqp.NewSource(unlimited(amqp.Server{URL: in.URL}))
	if err != nil {
		return err
	}
	c, err := newIngesting(fault.Store(st, func(p fault.Point) error {
		if p == fault.LetterAfterCommit || p == fault.AfterCommit {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
	}), in.Queue, source)
	if err != nil {
		return err
	}
	return errors.Join(c.Run(ctx), errors.New("no letter was committed"))
}

// A process that is killed between the commit of a letter and the acknowledgement leaves one
// letter, whose message is a duplicate when it comes again.
//
//evidence:ingest
func TestIngestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	st, db := onSQLite(t, path)
	b := setupIngest(t, st, db)
	b.reject(paid("lost"))

	text, err := json.Marshal(ingestion{path, b.url, b.queue})
	b.must(err)
	self, err := os.Executable()
	b.must(err)
	cmd := exec.CommandContext(b.ctx, self, "-test.run=^$")
	cmd.Env = append(os.Environ(), ingestVariable+"="+string(text))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		b.Fatalf("the process was to be killed: %v: %s", err, out)
	}
	c, _ := b.start()
	b.eventually("the message comes again", func() bool { return c.Stats().Duplicates == 1 })
	letters, err := redrive.New(st).List(b.ctx, dlq.Filter{AnyState: true}, 0, 10)
	b.must(err)
	if len(letters) != 1 || letters[0].Delivery.Key != "lost" || letters[0].Class != dlq.Ingested || b.effects() != "" {
		b.Errorf("letters %+v, applied %q", letters, b.effects())
	}
}

// unlimited are the options for queues that give up on no message.
func unlimited(server amqp.Server) amqp.SourceOptions {
	return amqp.SourceOptions{Server: server, Topology: amqp.Topology{DeliveryLimit: amqp.Unlimited}}
}
