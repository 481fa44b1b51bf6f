package story

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/encode"
)

// figures are what a query over the journal and the tables finds. A message is told by key and fingerprint; all
// but delivered, duplicates and retried count distinct messages.
type figures struct {
	Delivered    int64 `json:"delivered"`     // deliveries in the journal
	Messages     int64 `json:"messages"`      // distinct messages in it
	Applied      int64 `json:"applied"`       // have their invoice, or were edited and are done
	Dead         int64 `json:"dead"`          // have a dead letter, and no invoice
	Waiting      int64 `json:"waiting"`       // stand in the backlog, or were not acknowledged yet
	Lost         int64 `json:"lost"`          // none of these
	AppliedTwice int64 `json:"applied_twice"` // intents with more than one invoice
	Duplicates   int64 `json:"duplicates"`    // deliveries beyond the first of their message
	Retried      int64 `json:"retried"`       // recorded failures of messages that were applied in the end
	Published    int64 `json:"published"`     // distinct confirmations in the journal of the sink
}

// deadLetters are those that were not sent on their way again. There may be more than one of a message, and of
// messages that were applied: each conflict is one.
type deadLetters struct {
	Letters int64    `json:"letters"`
	Reasons []reason `json:"reasons"` // the largest groups
}

// reason is a group of dead letters.
type reason struct {
	Class   string `json:"class"`
	Count   int64  `json:"count"`
	Example string `json:"example"`
}

// open is what is not settled.
type open struct {
	Here   int64 // in flight in this run
	Others int64 // in flight in other runs
	Behind int64 // in the backlog
	Outbox int64 // not published
}

// open counts it, for a run, on a connection apart from the store's.
func (d *database) open(ctx context.Context, run string) (o open, err error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	conn, err := d.reader(ctx)
	if err != nil {
		return open{}, fmt.Errorf("open a connection to read: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	err = conn.QueryRowContext(ctx, unsettled, run, consumerName).Scan(&o.Here, &o.Others, &o.Behind, &o.Outbox)
	if err != nil {
		return open{}, fmt.Errorf("count what is not settled: %w", err)
	}
	return o, nil
}

// figures computes them from one snapshot of the database; with SQLite of the journal first and of the tables
// then, so that whatever the one says is acknowledged stands in the other.
func (d *database) figures(ctx context.Context) (f figures, dead deadLetters, err error) {
	conn, err := d.reader(ctx)
	if err != nil {
		return f, dead, fmt.Errorf("open a connection for the figures: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	tx, err := conn.BeginTx(ctx, d.snapshot)
	if err != nil {
		return f, dead, fmt.Errorf("figures: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // nothing of it is to stay
	for _, name := range []string{"snapshot", "create_seen", "seen_in_flight"} {
		if _, err := tx.ExecContext(ctx, sqlText(name)); err != nil {
			return f, dead, fmt.Errorf("figures: %s: %w", name, err)
		}
	}
	for _, name := range []string{"letters", "backlog"} {
		if err := see(ctx, tx, sqlText(name)); err != nil {
			return f, dead, fmt.Errorf("figures: read the %s: %w", name, err)
		}
	}
	err = tx.QueryRowContext(ctx, sqlText("figures"), confirmations).Scan(&f.Delivered, &f.Messages, &f.Applied, &f.Dead,
		&f.Waiting, &f.AppliedTwice, &f.Retried, &f.Published)
	if err != nil {
		return f, dead, fmt.Errorf("figures: %w", err)
	}
	f.Lost = f.Messages - f.Applied - f.Dead - f.Waiting
	f.Duplicates = f.Delivered - f.Messages
	dead, err = reasons(ctx, tx)
	return f, dead, err
}

// see tells which messages the rows of query hold, by their bytes, and notes them under their places.
func see(ctx context.Context, tx *sql.Tx, query string) error {
	const limit = 500
	i := newIdentifier()
	for after := int64(-1); ; {
		seen, last, err := page(ctx, tx, i, query, after, limit)
		if err != nil {
			return err
		}
		for _, one := range seen {
			if _, err := tx.ExecContext(ctx, insertSeen, one.place, one.Intent, one.Fact); err != nil {
				return err
			}
		}
		if len(seen) < limit {
			return nil
		}
		after = last
	}
}

// placed is a message, and where it is.
type placed struct {
	identity
	place string
}

func page(ctx context.Context, tx *sql.Tx, i identifier, query string, after int64, limit int) (seen []placed, last int64, err error) {
	rows, err := tx.QueryContext(ctx, query, after, limit, consumerName)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var m headrace.Delivery
		var metadata, coordinates []byte
		var place string
		if err := rows.Scan(&last, &m.Key, &m.ID, &m.Payload, &metadata, &coordinates, &place); err != nil {
			return nil, 0, err
		}
		m.Payload = notNil(m.Payload)
		if m.Metadata, err = encode.ParseMetadata(metadata); err != nil {
			return nil, 0, err
		}
		if err := json.Unmarshal(coordinates, &m.Coordinates); err != nil {
			return nil, 0, err
		}
		seen = append(seen, placed{i.identify(&m), place})
	}
	return seen, last, rows.Err()
}

// reasons returns the largest groups of dead letters.
func reasons(ctx context.Context, tx *sql.Tx) (dead deadLetters, err error) {
	const limit = 30
	dead.Reasons = []reason{}
	rows, err := tx.QueryContext(ctx, sqlText("dead_groups"), limit, consumerName)
	if err != nil {
		return dead, fmt.Errorf("groups of dead letters: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var r reason
		if err := rows.Scan(&r.Class, &r.Count, &r.Example, &dead.Letters); err != nil {
			return dead, fmt.Errorf("groups of dead letters: %w", err)
		}
		dead.Reasons = append(dead.Reasons, r)
	}
	return dead, rows.Err()
}
