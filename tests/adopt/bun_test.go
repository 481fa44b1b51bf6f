package adopt_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"github.com/uptrace/bun/schema"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
)

type Invoice struct {
	bun.BaseModel `bun:"table:invoices"`
	OrderID       string
	Total         int64
}

// Each query says Conn(tx): one that does not runs outside of the message's
// transaction.
func bunHandler(db *bun.DB) consumer.Func[Order] {
	return func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[Order]) error {
		_, err := db.NewInsert().Conn(tx).Model(&Invoice{OrderID: m.Body.ID, Total: m.Body.Total}).Exec(ctx)
		return err
	}
}

func TestBun(t *testing.T) {
	lite, pg := openSQLite(t), openPgx(t)
	for name, c := range map[string]struct {
		st      store.Store
		db      *sql.DB
		dialect schema.Dialect
	}{
		"sqlite":   {lite, lite.DB(), sqlitedialect.New()},
		"postgres": {pg, pg.DB(), pgdialect.New()},
	} {
		t.Run(name, func(t *testing.T) {
			db := bun.NewDB(c.db, c.dialect)
			deliverTwice(t, c.st, func(c *consumer.Consumer) { consumer.Handle(c, "orders.paid", bunHandler(db)) })
			n, err := db.NewSelect().Model((*Invoice)(nil)).Where("order_id = ?", "10492").Count(t.Context())
			must(t, err)
			if n != 1 {
				t.Errorf("%d invoices", n)
			}
		})
	}
}

// A program's own bun transaction writes its event with it.
func place(ctx context.Context, db *bun.DB, ob *outbox.Outbox, o Order) error {
	err := db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.NewInsert().Model(&Invoice{OrderID: o.ID, Total: o.Total}).Exec(ctx); err != nil {
			return err
		}
		return ob.Publish(ctx, tx, headrace.Event{Topic: "orders.placed", OrderKey: o.ID, Value: o})
	})
	if err == nil {
		ob.Wake()
	}
	return err
}

func TestBunOutbox(t *testing.T) {
	lite, pg := openSQLite(t), openPgx(t)
	for name, c := range map[string]struct {
		st store.Store
		db *bun.DB
	}{
		"sqlite":   {lite, bun.NewDB(lite.DB(), sqlitedialect.New())},
		"postgres": {pg, bun.NewDB(pg.DB(), pgdialect.New())},
	} {
		t.Run(name, func(t *testing.T) {
			must(t, place(t.Context(), c.db, outbox.New(c.st.Outbox()), Order{ID: "it's ? $1", Total: 2}))
			status, err := c.st.Outbox().Status(t.Context())
			must(t, err)
			if status.Ready != 1 {
				t.Errorf("outbox: %+v", status)
			}
		})
	}
}
