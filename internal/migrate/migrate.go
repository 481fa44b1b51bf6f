package migrate

import (
	"context"
	"fmt"
	"time"

	"github.com/headrace/headrace/store"
)

// Applied is the record of an applied script.
type Applied struct {
	Version  int
	Name     string
	Checksum string
	At       time.Time // by the database's clock
}

// Book is a database's record of applied scripts. Stores implement it.
type Book interface {
	// Schema names the schema of the tables; "" for the default of the command headrace.
	Schema() string
	// Applied returns the records by version, without waiting for a process that
	// migrates; none if there is no table.
	Applied(ctx context.Context) ([]Applied, error)
	// Locked calls f in a transaction that excludes every other process that migrates
	// this schema, after creating the table of records, and commits if f returns nil. It
	// blocks until it has the lock or ctx ends.
	Locked(ctx context.Context, f func(Session) error) error
}

// Session has the operations under the lock.
type Session interface {
	// Applied is as in Book, in this transaction.
	Applied(ctx context.Context) ([]Applied, error)
	// Apply runs s, records it, and returns the time of the record.
	Apply(ctx context.Context, s Script) (time.Time, error)
}

// Up applies the missing scripts, each in its own transaction, and returns those that it
// applied itself, also with an error. It does not change a database that is newer than
// scripts, or has a changed one; the error matches store.ErrSchema.
func Up(ctx context.Context, b Book, scripts []Script) ([]store.Migration, error) {
	if Check(ctx, b, scripts) == nil {
		return nil, nil // without the lock and rights that only a change needs
	}
	var done []store.Migration
	for {
		m, err := next(ctx, b, scripts)
		if err != nil {
			return done, fmt.Errorf("migrate: %w", err)
		}
		if m == nil {
			return done, nil
		}
		done = append(done, *m)
	}
}

// next applies the first missing script, and returns nil if there is none.
func next(ctx context.Context, b Book, scripts []Script) (*store.Migration, error) {
	var m *store.Migration
	err := b.Locked(ctx, func(s Session) error {
		applied, err := s.Applied(ctx)
		if err != nil {
			return err
		}
		if err := compare(scripts, applied, b.Schema()); err != nil {
			return err
		}
		if len(applied) == len(scripts) {
			return nil
		}
		script := scripts[len(applied)]
		at, err := s.Apply(ctx, script)
		if err != nil {
			return fmt.Errorf("%04d_%s: %w", script.Version, script.Name, err)
		}
		m = &store.Migration{Version: script.Version, Name: script.Name, SQL: script.SQL, Applied: true, At: at}
		return nil
	})
	return m, err
}

// List returns the scripts, and when each was applied.
func List(ctx context.Context, b Book, scripts []Script) ([]store.Migration, error) {
	applied, err := b.Applied(ctx)
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	list := make([]store.Migration, len(scripts))
	for i, s := range scripts {
		list[i] = store.Migration{Version: s.Version, Name: s.Name, SQL: s.SQL}
		if i < len(applied) && applied[i].Version == s.Version {
			list[i].Applied, list[i].At = true, applied[i].At
		}
	}
	return list, nil
}
