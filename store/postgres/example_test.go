package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"log"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // driver "pgx"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
)

// A store with connections of its own. Many programs let it bring its tables up to
// date; without Migrate, a database that lacks some is refused.
func ExampleOpen() {
	ctx := context.Background()
	st, err := postgres.Open(ctx, "postgres://app@db.example/shop", postgres.Options{Migrate: true})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()
}

// A store on the connections that a program has already.
func ExampleNew() {
	ctx := context.Background()
	db, err := sql.Open("pgx", "postgres://app@db.example/shop")
	if err != nil {
		log.Fatal(err)
	}
	st, err := postgres.New(ctx, db, postgres.Options{Schema: "messaging"})
	if errors.Is(err, store.ErrSchema) {
		log.Fatal(err) // … run `headrace migrate up`, or …
	}
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()
}

// A store on the pool of pgx that a program has already, and events in a transaction of pgx.
func ExampleOpenPool() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres://app@db.example/shop")
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close() // after the store
	st, err := postgres.OpenPool(ctx, pool, postgres.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	ob := outbox.New(st.Outbox())
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		return ob.Publish(ctx, postgres.Execer(tx), headrace.Event{Topic: "orders.placed", Payload: []byte("{}")})
	})
	if err == nil {
		ob.Wake()
	}
}

// A program that migrates by itself, and says what it did.
func ExampleStore_Migrate() {
	ctx := context.Background()
	st, err := postgres.Open(ctx, "postgres://owner@db.example/shop", postgres.Options{Unchecked: true})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	applied, err := st.Migrate(ctx)
	for _, m := range applied {
		log.Printf("applied %04d_%s", m.Version, m.Name)
	}
	if err != nil {
		log.Fatal(err)
	}
}
