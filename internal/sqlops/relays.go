package sqlops

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
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
		Owners, Own, Other, Beat, End, Forget string

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

func (s *Relays) Claim(ctx context.Context, r outbox.Relay) (err error) {
	defer sqlrun.Wrap("claim the outbox", &err)
	return s.Transact(ctx, func(t *txn.Txn) error { return s.claim(ctx, t, r) })
}

// names lists owners. Their Sink is a SinkID, or "".
func names(owners []outbox.Owner) string {
	var all []string
	for _, o := range owners {
		name := strconv.Quote(o.Consumer)
		if o.Sink != "" {
			name += " with the sink " + o.Sink
		}
		all = append(all, name)
	}
	return strings.Join(all, ", ")
}

func (s *Relays) Owners(ctx context.Context, name string) (owners []outbox.Owner, err error) {
	defer sqlrun.Wrap("list the owners of outboxes", &err)
	return s.owners(ctx, s.Reader(), name)
}

func (s *Relays) owners(ctx context.Context, q sqlrun.Reader, name string) ([]outbox.Owner, error) {
	return sqlrun.Collect(ctx, q, s.SQL.Owners, []any{name}, func(o *outbox.Owner) []any { return []any{&o.Outbox, &o.Consumer, &o.Sink} })
}

// claim locks the outbox of r until t ends, and makes r's consumers its owners.
func (s *Relays) claim(ctx context.Context, t *txn.Txn, r outbox.Relay) error {
	if err := sqlrun.Steps(ctx, t, []any{shard.Lock("relays", s.Schema, r.Outbox), sqlrun.Millis(lockIdle)}, s.SQL.Lock); err != nil {
		return err
	}
	// A statement of its own, so that it sees the commits of the previous holder.
	owners, err := s.owners(ctx, t, r.Outbox)
	if err != nil {
		return err
	}
	sink := ""
	if r.Known {
		sink = encode.Text(r.Sink, sqlrun.MaxName)
	}
	mine := func(o outbox.Owner) bool {
		return slices.Contains(r.Consumers, o.Consumer) || r.Known && o.Sink == sink
	}
	if len(owners) > 0 && !slices.ContainsFunc(owners, mine) {
		return fmt.Errorf("%w: %q is the outbox of %s", outbox.ErrOwned, r.Outbox, names(owners))
	}
	for _, consumer := range r.Consumers {
		if slices.Contains(owners, outbox.Owner{Outbox: r.Outbox, Consumer: consumer, Sink: sink}) {
			continue
		}
		if err := sqlrun.Steps(ctx, t, []any{r.Outbox, consumer, sink}, s.SQL.Own); err != nil {
			return err
		}
	}
	return nil
}

func (s *Relays) Serve(ctx context.Context, r outbox.Relay, missed time.Duration) (other string, err error) {
	defer sqlrun.Wrap("serve the outbox", &err)
	sink := encode.Text(r.Sink, sqlrun.MaxName)
	err = s.Transact(ctx, func(t *txn.Txn) error {
		if err := s.claim(ctx, t, r); err != nil {
			return err
		}
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
