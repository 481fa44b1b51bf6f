package sqlops

import (
	"context"
	"time"

	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// Relays implements outbox.Relays.
type Relays struct {
	sqlrun.Table[struct {
		Other, Beat, End, Forget string

		Lock string `sql:"optional"` // there is none where a transaction has the whole database
	}]
	// Schema is the schema's name, for the number of the lock.
	Schema string
}

const (
	// lockIdle is how long the holder of the lock may idle between two statements.
	lockIdle = 5 * time.Second
	// forgetAfter is how long the row of a relay that ended unexpectedly is kept.
	forgetAfter = time.Hour
)

func (s *Relays) Serve(ctx context.Context, r outbox.Relay, missed time.Duration) (other string, err error) {
	defer sqlrun.Wrap("serve the outbox", &err)
	sink := encode.Text(r.Sink, sqlrun.MaxName)
	err = s.Transact(ctx, func(t *txn.Txn) error {
		if err := sqlrun.Steps(ctx, t, []any{shard.Lock("relays", s.Schema, r.Outbox), sqlrun.Millis(lockIdle)}, s.SQL.Lock); err != nil {
			return err
		}
		// A statement of its own, so that it sees the commits of the previous holder.
		if err := t.QueryRowContext(ctx, s.SQL.Other, r.ID, r.Outbox, sink, sqlrun.Micros(missed)).Scan(&other); err != nil {
			return err
		}
		if err := sqlrun.Steps(ctx, t, []any{r.ID, r.Outbox, sink, other == "", encode.Text(r.Host, sqlrun.MaxName)}, s.SQL.Beat); err != nil {
			return err
		}
		return sqlrun.Steps(ctx, t, []any{sqlrun.Micros(forgetAfter)}, s.SQL.Forget)
	})
	return other, err
}

func (s *Relays) End(ctx context.Context, id string) (err error) {
	defer sqlrun.Wrap("end the relay", &err)
	_, err = s.Write(ctx, s.SQL.End, id)
	return err
}
