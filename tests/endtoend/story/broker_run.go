package story

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"

	"github.com/google/uuid"

	"github.com/headrace/headrace/tests/endtoend/services"
)

// over is one run of a program over a broker.
type over struct {
	b       Broker
	program Program
	o       brokerOptions
	log     *slog.Logger
	conn    Connection
	db      *database
	journal *journal
	source  *source
	topics  topics
}

// topics are those of one database, so that another one beside the same broker has others.
type topics struct {
	Orders, Confirmations string
}

// dead is where copies of dead letters go.
func (t topics) dead() string { return t.Orders + ".dead" }

// runOver does everything: webhooks to the broker, invoices out of it, and the figures.
func runOver(ctx context.Context, b Broker, program Program, o brokerOptions, stdin io.Reader, stdout io.Writer, stderr *os.File) (err error) {
	webhooks, closeInput, err := openStream(o.options, stdin)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeInput()) }()
	db, err := openDatabase(ctx, o.options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	found, err := b.Find(ctx, o.address, o.services != "", stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, found.Stop()) }()
	r := &over{b: b, program: program, o: o, db: db}
	if err := r.open(ctx, found.Address, webhooks); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.leave(ctx, found)) }()
	total := 0
	if o.in == "" {
		total = o.n
	}
	p := startProgress(stderr, r.source, total)
	r.log = newLog(p, o.log)
	r.source.log, r.conn = r.log, b.Connect(found.Address, r.log)
	outcome := r.work(ctx, found.Address)
	outcome = errors.Join(outcome, r.source.Close())
	r.journal.close()
	p.stop()
	if errors.Is(outcome, errInterrupted) {
		outcome = fmt.Errorf("%w; %s", outcome, o.afterInterrupt(found.Ours))
	}
	return errors.Join(outcome, r.source.err(), r.conclude(ctx, stdout, outcome))
}

// leave removes the topics of a database that is gone after this run, from a broker that stays.
func (r *over) leave(ctx context.Context, found services.Found) error {
	if found.Ours || !r.o.temporary() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), queryTimeout)
	defer cancel()
	return r.b.Connect(found.Address, slog.New(slog.DiscardHandler)).Remove(ctx, r.topics.Orders, r.topics.Confirmations, r.topics.dead())
}

// afterInterrupt says what is left of a run that was interrupted.
func (o brokerOptions) afterInterrupt(stopped bool) string {
	switch {
	case o.temporary():
		return nothingKept
	case stopped:
		return "the broker that was started here is stopped, and what it held is gone: the same command sends all webhooks again, and none is applied twice"
	}
	return "the same command handles what the broker still holds, and sends all webhooks again: none is applied twice"
}

func newLog(w io.Writer, all bool) *slog.Logger {
	level := slog.LevelError
	if all {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}

// open makes tables and topics.
func (r *over) open(ctx context.Context, address string, webhooks stream) error {
	var err error
	if r.journal, err = openJournal(ctx, r.db.journal); err != nil {
		return err
	}
	name, err := storyName(ctx, r.db.journal)
	if err == nil {
		r.topics = topics{"orders-paid-" + name, "confirmations-" + name}
		conn := r.b.Connect(address, slog.New(slog.DiscardHandler))
		err = conn.Create(ctx, r.topics.Orders, r.topics.Confirmations, r.topics.dead())
	}
	if err != nil {
		r.journal.close()
		return err
	}
	orphans, err := r.journal.others(ctx)
	if err != nil {
		r.journal.close()
		return err
	}
	r.source = newSource(named{webhooks}, r.journal, slices.Collect(maps.Keys(orphans)))
	return nil
}

// storyName is the name of the database's topics.
func storyName(ctx context.Context, db *sql.DB) (name string, err error) {
	if err := create(ctx, db, sqlText("create_stories")); err != nil {
		return "", err
	}
	if _, err := db.ExecContext(ctx, sqlText("insert_story"), uuid.NewString()[:8]); err != nil {
		return "", fmt.Errorf("name the topics: %w", err)
	}
	if err := db.QueryRowContext(ctx, sqlText("read_story")).Scan(&name); err != nil {
		return "", fmt.Errorf("name the topics: %w", err)
	}
	return name, nil
}

// work sends, consumes and listens until everything is settled, or ctx ends.
func (r *over) work(ctx context.Context, address string) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	parts := []part{{"the gateway", r.send}, {"the clerk", r.listen}, {"a worker", r.worker(address)}}
	ended := make(chan error, len(parts))
	for _, p := range parts {
		go func() { // received from below, in every case
			err := p.run(running)
			if err != nil {
				err = fmt.Errorf("%s: %w", p.name, err)
			}
			ended <- err
		}()
	}
	err := r.settled(ctx, ended)
	open := len(parts)
	if over := (*endedEarly)(nil); errors.As(err, &over) {
		open--
	}
	stop()
	for range open {
		err = errors.Join(err, <-ended)
	}
	return err
}

// part is something that goes on during a run.
type part struct {
	name string
	run  func(context.Context) error
}

// endedEarly is the end of a part before everything was settled.
type endedEarly struct{ err error }

func (e *endedEarly) Error() string {
	return fmt.Sprintf("stopped before everything was settled: %v", e.err)
}

func (e *endedEarly) Unwrap() error { return e.err }

// conclude prints the figures, wanted all the more after a Ctrl-C.
func (r *over) conclude(ctx context.Context, stdout io.Writer, outcome error) error {
	rep, err := conclude(context.WithoutCancel(ctx), r.db)
	if err != nil {
		return err
	}
	rep.delivered = "webhooks sent to the broker"
	if err := rep.print(stdout, r.o.json); err != nil {
		return err
	}
	if outcome != nil {
		return nil // what is not consumed yet looks like a loss
	}
	return rep.violations()
}
