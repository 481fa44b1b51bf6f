package headrace_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/store/txn"
)

// A handler takes a *headrace.Tx, so its test needs a database and no broker.
func ExampleNewTx() {
	handler := func(ctx context.Context, tx *headrace.Tx, order string) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO invoices VALUES (?)", order); err != nil {
			return err
		}
		return tx.Publish(headrace.Event{Topic: "invoices.created", OrderKey: order, Value: map[string]string{"order": order}})
	}

	ctx := context.Background()
	db, remove := exampleDatabase()
	defer remove()
	under, err := txn.Begin(ctx, db, txn.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer under.Rollback()
	tx := headrace.NewTx(under, headrace.TxOptions{})
	fmt.Println(handler(ctx, tx, "10492"), tx.Close())
	for _, e := range tx.Events() {
		fmt.Println(e.Topic, string(e.Payload))
	}
	// Output:
	// <nil> <nil>
	// invoices.created {"order":"10492"}
}

// A part that may fail on its own: the rest of the handler counts.
func ExampleTx_Nested() {
	ctx := context.Background()
	db, remove := exampleDatabase()
	defer remove()
	under, err := txn.Begin(ctx, db, txn.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer under.Rollback()
	tx := headrace.NewTx(under, headrace.TxOptions{})
	for _, order := range []string{"1", "2", "1"} {
		err := tx.Nested(ctx, func(ctx context.Context, tx *headrace.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO invoices VALUES (?)", order)
			return err
		})
		fmt.Println(order, err == nil)
	}
	var n int
	err = tx.QueryRowContext(ctx, "SELECT count(*) FROM invoices").Scan(&n)
	fmt.Println(n, err)
	// Output:
	// 1 true
	// 2 true
	// 1 false
	// 2 <nil>
}

// The consumer ends the transaction; a handler that tries is refused, whatever it
// makes of the error.
func ExampleTx_ExecContext() {
	ctx := context.Background()
	db, remove := exampleDatabase()
	defer remove()
	under, err := txn.Begin(ctx, db, txn.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer under.Rollback()
	tx := headrace.NewTx(under, headrace.TxOptions{})
	_, err = tx.ExecContext(ctx, "COMMIT")
	fmt.Println(err, errors.Is(err, headrace.ErrForbidden))
	fmt.Println(tx.Close())
	// Output:
	// statement not allowed in a handler: COMMIT true
	// statement not allowed in a handler: COMMIT
}

func ExampleEvent_Encode() {
	e, err := headrace.Event{ID: "1", Topic: "invoices.created", Value: struct{ Total string }{"99.00"}}.Encode(nil)
	fmt.Println(string(e.Payload), err)
	_, err = headrace.Event{Value: 1}.Encode(nil)
	fmt.Println(err, errors.Is(err, headrace.ErrInvalidEvent))
	// Output:
	// {"Total":"99.00"} <nil>
	// invalid event: Topic is empty true
}

// A source of your own says where a message stood: the default key of a message
// without an id.
func ExampleWithArrival() {
	ctx := headrace.WithArrival(context.Background(), headrace.Arrival{Coordinates: headrace.Coordinates{Broker: "kafka", Topic: "orders", Partition: "3", Position: "1042"}})
	fmt.Println(headrace.ArrivalFrom(ctx).Coordinates)
	// Output:
	// kafka/orders/3/1042
}

// exampleDatabase returns a SQLite database with an empty table of invoices, and what
// removes it.
func exampleDatabase() (db *sql.DB, remove func()) {
	dir, err := os.MkdirTemp("", "headrace")
	if err != nil {
		panic(err)
	}
	if db, err = sql.Open("sqlite", filepath.Join(dir, "example.db")); err != nil {
		panic(err)
	}
	if _, err := db.Exec("CREATE TABLE invoices (order_id text PRIMARY KEY)"); err != nil {
		panic(err)
	}
	return db, func() { _ = errors.Join(db.Close(), os.RemoveAll(dir)) }
}
