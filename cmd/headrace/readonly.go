package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/sqlite"
)

// reads are the commands that write nothing.
var reads = []string{
	"alert ls", "audit ls", "backlog groups", "backlog ls", "backlog show", "consumer ls", "dlq groups", "dlq ls", "dlq show", "dlq why",
	"inbox missing", "inbox show", "intent show", "migrate grants", "migrate print", "migrate status", "outbox parked", "outbox status",
	"redrive letters", "redrive ls", "redrive show", "redrive watch", "schedule ls", "status", "steps", "steps find", "steps ls", "subscription ls", "system ls", "version",
}

// onlyReads reports whether a command with its flags writes nothing.
func onlyReads(c *cobra.Command) bool {
	given := func(name string) bool { f := c.Flags().Lookup(name); return f != nil && f.Changed }
	switch path := pathOf(c); path {
	case "check":
		return !given("repair")
	case "dlq export":
		return !given("unredacted")
	default:
		return slices.Contains(reads, path)
	}
}

// forReading ends the DSN of a SQLite file that is opened for reading alone.
const forReading = "?mode=ro"

// openSQLite opens a file. Who may not write it, or asks for it with the DSN, opens it for reading alone:
// that is enough for commands that only read.
func (m *Main) openSQLite(ctx context.Context, db database, unchecked bool) (*sqlite.Store, error) {
	o := sqlite.Options{Unchecked: unchecked, ReadOnly: db.readOnly}
	if o.ReadOnly && !m.reads {
		return nil, fmt.Errorf("%w: the DSN ends with %s, and this command writes", fs.ErrPermission, forReading)
	}
	st, err := sqlite.Open(ctx, db.sqlite, o)
	if err == nil || !m.reads || o.ReadOnly || errors.Is(err, store.ErrSchema) || ctx.Err() != nil {
		return st, err
	}
	o.ReadOnly = true
	if st, failed := sqlite.Open(ctx, db.sqlite, o); failed == nil {
		return st, nil
	}
	return nil, err
}
