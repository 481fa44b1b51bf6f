package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/sqlite"
)

// A store in a file. The program's own tables stand beside headrace's, so that a handler's
// effects and the record of its message are one commit.
func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "sqlite")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "orders.db")

	_, err = sqlite.Open(ctx, path, sqlite.Options{}) // without Migrate it makes no file
	fmt.Println("no file:", errors.Is(err, store.ErrSchema) || errors.Is(err, os.ErrNotExist))

	st, err := sqlite.Open(ctx, path, sqlite.Options{Migrate: true})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	if _, err := st.DB().ExecContext(ctx, "CREATE TABLE invoices (order_id TEXT, total INTEGER)"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(st.Ping(ctx))
	// Output:
	// no file: true
	// <nil>
}

// A program that migrates by itself, and says what it did.
func ExampleStore_Migrate() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "sqlite")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	st, err := sqlite.Open(ctx, filepath.Join(dir, "orders.db"), sqlite.Options{Unchecked: true})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	applied, err := st.Migrate(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("first: %04d_%s\n", applied[0].Version, applied[0].Name)
	applied, err = st.Migrate(ctx)
	fmt.Println("again:", len(applied), err)
	// Output:
	// first: 0001_schema
	// again: 0 <nil>
}
