package postgres

import (
	"context"
	"database/sql"
	"testing/fstest"
	"time"

	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/internal/sqlfile"
)

// SetCommitTimeout bounds COMMIT for tests that cut it.
func (s *Store) SetCommitTimeout(d time.Duration) { s.commitTimeout = d }

// Links is how many network connections the store knows.
func (s *Store) Links() (n int) {
	s.connector.links.Range(func(any, any) bool { n++; return true })
	return n
}

// CutAll cuts every connection, as a transaction does that ends while nothing is answered.
func (s *Store) CutAll() { s.connector.cut() }

// SQL is a statement by the name of its file, for EXPLAIN.
func (s *Store) SQL(name string) string { return s.text.Queries.Get(name) }

// SQLs are all statements, by the names of their files.
func (s *Store) SQLs() map[string]string { return s.text.Queries.All() }

// Unused are the statements that no code has asked for.
func (s *Store) Unused() []string { return s.text.Queries.Unused() }

// AddMigrations makes a store migrate as a newer build does, which has further files.
func (s *Store) AddMigrations(more map[string]string) error {
	all := fstest.MapFS{}
	own, err := files.ReadDir("migrations")
	if err != nil {
		return err
	}
	for _, file := range own {
		text, err := files.ReadFile("migrations/" + file.Name())
		if err != nil {
			return err
		}
		all["migrations/"+file.Name()] = &fstest.MapFile{Data: text}
	}
	for name, text := range more {
		all["migrations/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	names, err := sqlfile.ReadNames(files, "parts", Options{Schema: s.history.schema}.quoted())
	if err != nil {
		return err
	}
	s.text.Scripts, err = migrate.Parse(all, "migrations", names)
	return err
}

// LateBegin has a BeginTx with the context wait for the first statement, as Store.Begin.
func LateBegin(ctx context.Context) context.Context { return context.WithValue(ctx, lateBegin{}, true) }

// BreakBegin has the server reject the BEGIN that waits on a connection.
func BreakBegin(driverConn any) error {
	driverConn.(*poolConn).late.BeginQuery = "BEGIN nonsense"
	return nil
}

// BreakBegins has the server reject each BEGIN that waits on a connection of the store's own, or, with false, no more.
func (s *Store) BreakBegins(broken bool) {
	s.connector.begin = beginText
	if broken {
		s.connector.begin = "BEGIN nonsense"
	}
}

// SetIdleTime is after how long without use BEGIN does not wait for the first statement.
func (s *Store) SetIdleTime(d time.Duration) { s.connector.idle = d }

// Cutter returns the function that cuts a connection, as the store asks for it.
func Cutter(conn *sql.Conn) func() { return killer(nil)(conn) }
