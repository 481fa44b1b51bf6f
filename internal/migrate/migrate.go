package migrate

import (
	"context"
	"fmt"
	"time"

	"github.com/headrace/headrace/store"
)

// Applied is the record of a script.
type Applied struct {
	Version  int
	Name     string
	Checksum string
	At       time.Time // by the database's clock
}

// Book is a database's record of what was applied to it. Stores implement it.
type Book interface {
	// Schema names the schema of the tables; "" where it is the one that the command
	// headrace looks at by default.
	Schema() string
	// Applied returns the records by version, without waiting for a process that
	// migrates; none where there is no table yet.
	Applied(ctx context.Context) ([]Applied, error)
	// Locked calls f in a transaction that excludes every other process that
	// migrates this schema, with the table of records there, and commits if f
	// returns nil. It blocks until it has the lock or ctx ends.
	Locked(ctx context.Context, f func(Session) error) error
}

// Session is what may be done while the lock is held.
type Session interface {
	// Applied is that of Book, in this transaction.
	Applied(ctx context.Context) ([]Applied, error)
	// Apply runs s, records it, and returns the time of the record.
	Apply(ctx context.Context, s Script) (time.Time, error)
}

// Up applies the scripts that are missing, each in a transaction of its own, and
// returns those that it applied itself, also beside an error. A database that is
// newer than scripts, or in which one was changed, is left as it is; the error
// matches store.ErrSchema.
func Up(ctx context.Context, b Book, scripts []Script) ([]store.Migration, error) {
	if Check(ctx, b, scripts) == nil {
		return nil, nil // without the lock and the rights that only a change needs
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

// next applies the first script that is missing, and returns nil where none is.
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
	if err != nil {
		return nil, err
	}
	return m, nil
}

// List returns the scripts with when each was applied.
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
