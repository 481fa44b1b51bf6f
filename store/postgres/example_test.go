package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"log"

	_ "github.com/jackc/pgx/v5/stdlib" // driver "pgx"

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
