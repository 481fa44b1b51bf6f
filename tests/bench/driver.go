package main

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // driver "pgx"

	"github.com/headrace/headrace/store/postgres"
)

// driver is how a benchmark talks to PostgreSQL, on both sides of a ratio.
type driver struct {
	name string // in database/sql
	// suffix ends the names of its benchmarks and of their parts.
	suffix string
	// away is how long a round trip to the server takes, beside its own time.
	away time.Duration
}

var (
	libPQ = driver{name: "postgres"}
	pgx   = driver{name: "pgx", suffix: "_pgx"}
)

// conns is how many connections a store on pgx has: as many as postgres.Open gives.
const conns = 20

// named returns benchmarks with the driver's suffix on every name in them.
func (d driver) named(list []benchmark) []benchmark {
	if d.suffix == "" {
		return list
	}
	all := func(names []string) []string {
		suffixed := make([]string, len(names))
		for i, name := range names {
			suffixed[i] = name + d.suffix
		}
		return suffixed
	}
	for i := range list {
		b := &list[i]
		b.part, b.name, b.says = b.part+d.suffix, b.name+d.suffix, b.says+", "+d.name
		b.against, b.labels, b.with = all(b.against), all(b.labels), all(b.with)
	}
	return list
}

// openWith opens the database with a driver, and keeps that many connections.
func (l *lab) openWith(d driver, conns int) (*sql.DB, error) {
	dsn, err := l.dsnFor(d)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open(d.name, dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

// dsnFor returns the DSN of the lab's database for a driver.
func (l *lab) dsnFor(d driver) (string, error) {
	if d.away == 0 {
		return l.dsn, nil
	}
	if l.away == nil {
		way, dsn, err := newAway(l.dsn, d.away)
		if err != nil {
			return "", err
		}
		l.away, l.awayDSN = way, dsn
	}
	return l.awayDSN, nil
}

// storeWith returns what opens the lab's database as a store on a driver.
func (l *lab) storeWith(d driver) func(context.Context) (opened, error) {
	return func(ctx context.Context) (opened, error) {
		dsn, err := l.dsnFor(d)
		if err != nil {
			return opened{}, err
		}
		if d.name == libPQ.name {
			st, err := postgres.Open(ctx, dsn, postgres.Options{})
			return opened{st, st, st}, err
		}
		config, err := pgxpool.ParseConfig(dsn)
		if err != nil {
			return opened{}, err
		}
		config.MaxConns, config.MaxConnIdleTime = conns, 5*time.Minute
		pool, err := pgxpool.NewWithConfig(ctx, config)
		if err != nil {
			return opened{}, err
		}
		end := func() error { pool.Close(); return nil }
		st, err := postgres.OpenPool(ctx, pool, postgres.Options{})
		if err != nil {
			return opened{}, errors.Join(err, end())
		}
		return opened{st, st, closers{st.Close, end}}, nil
	}
}

// closers close one after the other.
type closers []func() error

// Close implements io.Closer.
func (c closers) Close() error {
	var err error
	for _, end := range c {
		err = errors.Join(err, end())
	}
	return err
}
