package database

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// Place is where an example has its database and its logs.
type Place struct {
	// Dir has the logs, and the SQLite file unless there is a DSN, of PostgreSQL.
	Dir, DSN string
}

// Flags adds -dir and -dsn. table is the one that Begin creates.
func (p *Place) Flags(flags *flag.FlagSet, table string) {
	flags.StringVar(&p.DSN, "dsn", "", "use this PostgreSQL database, postgres://…, instead of SQLite; it must have no table "+table)
	flags.StringVar(&p.Dir, "dir", "", "a new `directory` for the database and the logs; default: a temporary one, which is kept")
}

// Args are the flags for a child, which opens the same database.
func (p *Place) Args() []string { return []string{"-dir", p.Dir, "-dsn", p.DSN} }

// Begin makes Dir, or a temporary directory with the example's name, opens the database, and
// creates the example's table. It must be a new one: the other side begins with nothing.
func (p *Place) Begin(ctx context.Context, example, create string) (*Database, error) {
	var err error
	if p.Dir == "" {
		p.Dir, err = os.MkdirTemp("", example+"-")
	} else {
		err = os.MkdirAll(p.Dir, 0o700)
	}
	if err != nil {
		return nil, err
	}
	d, err := p.Open(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := d.DB.ExecContext(ctx, create); err != nil {
		_ = d.Close()
		return nil, fmt.Errorf("create the example's table, which must not exist before: %w", err)
	}
	return d, nil
}

// Open opens the database.
func (p *Place) Open(ctx context.Context) (*Database, error) { return Open(ctx, p.file(), p.DSN) }

// Where is the DSN for the headrace command.
func (p *Place) Where() string {
	if p.DSN != "" {
		return "(your -dsn)"
	}
	return "sqlite:" + p.file()
}

func (p *Place) file() string { return filepath.Join(p.Dir, "shop.db") }
