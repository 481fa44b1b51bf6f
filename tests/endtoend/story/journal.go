package story

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/tests/endtoend/shopify"
)

// queryTimeout bounds each transaction of the journal, and each look at the tables.
const queryTimeout = 30 * time.Second

// journal is the log of everything handed out and everything published, in tables of its own on connections of
// its own. What a method wrote is committed when it returns. Writes that come while a commit is on its way
// share the next one. It is safe for concurrent use; close it after the last write.
type journal struct {
	db       *sql.DB
	run      string // this run's name
	identify identifier
	prepared map[string]*sql.Stmt
	acked    atomic.Int64 // every delivery of this run up to here is acknowledged
	requests chan write
	writer   sync.WaitGroup
}

// delivery is a webhook that is handed out as the n-th of this run.
type delivery struct {
	n int64
	webhook
}

// write is something for the next commit.
type write struct {
	deliveries []delivery
	published  []published
	done       chan error
}

// published is a message that the relay gave to the sink.
type published struct{ topic, id string }

// envelope is a webhook without its payload, as it stands in orders_in_flight.
type envelope struct {
	ID       string               `json:"id"`
	OrderKey string               `json:"order_key,omitempty"`
	Headers  map[string]string    `json:"headers"`
	At       headrace.Coordinates `json:"at"`
}

// openJournal makes the tables where they are missing, and begins a run.
func openJournal(ctx context.Context, db *sql.DB) (*journal, error) {
	j := &journal{db: db, run: uuid.NewString(), identify: newIdentifier(), requests: make(chan write, maxInFlight), prepared: make(map[string]*sql.Stmt)}
	if err := create(ctx, db, sqlText("create_runs"), sqlText("create_deliveries"), sqlText("create_in_flight"), sqlText("create_published")); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if _, err := db.ExecContext(ctx, sqlText("insert_run"), j.run); err != nil {
		return nil, fmt.Errorf("journal: begin a run: %w", err)
	}
	for _, query := range []string{beat, acknowledge, insertDelivery, insertInFlight, insertPublished} {
		stmt, err := db.PrepareContext(ctx, query)
		if err != nil {
			return nil, fmt.Errorf("journal: prepare: %w", err)
		}
		j.prepared[query] = stmt
	}
	j.writer.Go(j.write)
	return j, nil
}

// close ends the writer. It does not close the database, which closes the statements.
func (j *journal) close() {
	close(j.requests)
	j.writer.Wait()
}

// exec runs one of the prepared statements in tx.
func (j *journal) exec(ctx context.Context, tx *sql.Tx, query string, args ...any) error {
	_, err := tx.StmtContext(ctx, j.prepared[query]).ExecContext(ctx, args...)
	return err
}

// send records deliveries before they are handed out.
func (j *journal) send(deliveries []delivery) error {
	return j.commit(write{deliveries: deliveries})
}

// publish records messages that were published.
func (j *journal) publish(p []published) error { return j.commit(write{published: p}) }

// flush records what was acknowledged, and that the run lives.
func (j *journal) flush() error { return j.commit(write{}) }

func (j *journal) commit(w write) error {
	w.done = make(chan error, 1)
	j.requests <- w
	if err := <-w.done; err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// write commits what was asked for, together with what came meanwhile.
func (j *journal) write() {
	for first := range j.requests {
		writes := []write{first}
		for range len(j.requests) {
			writes = append(writes, <-j.requests)
		}
		err := j.inTx(func(ctx context.Context, tx *sql.Tx) error {
			for _, w := range writes {
				if err := j.insert(ctx, tx, w); err != nil {
					return err
				}
			}
			return nil
		})
		for _, w := range writes {
			w.done <- err
		}
	}
}

// inTx runs f in a transaction that also keeps the books of this run.
func (j *journal) inTx(f func(context.Context, *sql.Tx) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), queryTimeout)
	defer cancel()
	acked := j.acked.Load()
	tx, err := j.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after a commit
	if err := j.exec(ctx, tx, beat, j.run); err != nil {
		return fmt.Errorf("beat: %w", err)
	}
	if err := j.exec(ctx, tx, acknowledge, j.run, acked); err != nil {
		return fmt.Errorf("acknowledge: %w", err)
	}
	if err := f(ctx, tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

func (j *journal) insert(ctx context.Context, tx *sql.Tx, w write) error {
	for _, d := range w.deliveries {
		id := j.identify.identify(d.delivered())
		if err := j.exec(ctx, tx, insertDelivery, j.run, d.n, shopify.PrintableID(d.ID), id.Intent, id.Fact); err != nil {
			return fmt.Errorf("insert delivery: %w", err)
		}
		e := marshal(envelope{d.ID, d.OrderKey, d.Headers, d.At})
		if err := j.exec(ctx, tx, insertInFlight, j.run, d.n, e, notNil(d.Payload)); err != nil {
			return fmt.Errorf("insert in flight: %w", err)
		}
	}
	for _, p := range w.published {
		if err := j.exec(ctx, tx, insertPublished, p.topic, p.id); err != nil {
			return fmt.Errorf("insert published: %w", err)
		}
	}
	return nil
}

// adopt makes what another run has in flight this run's own, numbered from n on, and returns it.
func (j *journal) adopt(run string, n int64) (adopted []delivery, err error) {
	err = j.inTx(func(ctx context.Context, tx *sql.Tx) error {
		adopted, err = inFlight(ctx, tx, run)
		if err != nil {
			return err
		}
		slices.SortFunc(adopted, func(a, b delivery) int { return cmp.Compare(a.n, b.n) })
		for i := range adopted {
			adopted[i].n = n + int64(i)
		}
		return j.insert(ctx, tx, write{deliveries: adopted})
	})
	if err != nil {
		return nil, fmt.Errorf("journal: take over a run: %w", err)
	}
	return adopted, nil
}

// notNil returns payload, and no bytes for nil: SQLite's driver reads no bytes as nil, and the input has no
// tombstones.
func notNil(payload []byte) []byte {
	if payload == nil {
		return []byte{}
	}
	return payload
}

func inFlight(ctx context.Context, tx *sql.Tx, run string) (list []delivery, err error) {
	rows, err := tx.QueryContext(ctx, takeOver, run)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var d delivery
		var raw []byte
		if err := rows.Scan(&d.n, &raw, &d.Payload); err != nil {
			return nil, err
		}
		d.Payload = notNil(d.Payload)
		var e envelope
		if err := json.Unmarshal(raw, &e); err != nil {
			return nil, fmt.Errorf("read an envelope: %w", err)
		}
		d.ID, d.OrderKey, d.Headers, d.At = e.ID, e.OrderKey, e.Headers, e.At
		list = append(list, d)
	}
	return list, rows.Err()
}

// others returns the other runs that have something in flight, each with a number that grows while it lives.
func (j *journal) others(ctx context.Context) (beats map[string]int64, err error) {
	rows, err := j.db.QueryContext(ctx, otherRuns, j.run)
	if err != nil {
		return nil, fmt.Errorf("journal: look for other runs: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	beats = make(map[string]int64)
	for rows.Next() {
		var run string
		var n int64
		if err := rows.Scan(&run, &n); err != nil {
			return nil, fmt.Errorf("journal: look for other runs: %w", err)
		}
		beats[run] = n
	}
	return beats, rows.Err()
}
