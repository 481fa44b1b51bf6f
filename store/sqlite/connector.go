package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"time"

	driversqlite "modernc.org/sqlite"

	"github.com/headrace/headrace/store/txn"
)

// connector opens connections and rejects those without the settings that the store
// relies on: SQLite ignores a pragma that it cannot apply.
type connector struct {
	driver.Connector
	gate *gate // nil for connections that only read
	busy time.Duration
	mode string // of the file
}

// Connect implements driver.Connector. It retries while the file is locked: SQLite does
// not wait for busy_timeout when it changes a new file to WAL mode.
func (k connector) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := bound(ctx, k.busy)
	defer cancel()
	for {
		c, err := k.connect(ctx)
		if err == nil || txn.Classify(err) != txn.LockTimeout {
			return c, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(connectPause):
		}
	}
}

// connectPause is the pause between two tries.
const connectPause = 3 * time.Millisecond

func (k connector) connect(ctx context.Context) (driver.Conn, error) {
	opened, err := k.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c, err := k.wrap(ctx, opened)
	if err != nil {
		_ = opened.Close()
		return nil, err
	}
	return c, nil
}

func (k connector) wrap(ctx context.Context, opened driver.Conn) (*conn, error) {
	n, ok := opened.(native)
	hooks, hooked := opened.(driversqlite.HookRegisterer)
	if !ok || !hooked {
		return nil, errors.New("modernc.org/sqlite of this version lacks what headrace needs")
	}
	for _, p := range []struct{ name, want string }{
		{"journal_mode", "wal"},
		{"synchronous", "2"}, // FULL
		{"foreign_keys", "1"},
		{"query_only", strconv.Itoa(bit(k.gate == nil))},
	} {
		if k.mode == asItIs && p.name == "journal_mode" {
			continue // there is no log
		}
		got, err := readPragma(ctx, n, p.name)
		if err != nil {
			return nil, fmt.Errorf("read pragma %s: %w", p.name, err)
		}
		if got != p.want {
			return nil, fmt.Errorf("pragma %s is %s here, and must be %s", p.name, got, p.want)
		}
	}
	c := &conn{native: n, gate: k.gate, busy: k.busy}
	if k.gate != nil {
		if readOnly, err := n.IsReadOnly("main"); err != nil || readOnly {
			return nil, errors.Join(errReadOnly, err)
		}
		hooks.RegisterCommitHook(func() int32 { return int32(bit(c.onCommit())) })
		hooks.RegisterRollbackHook(c.onRollback)
	}
	return c, nil
}

// errReadOnly says that this process cannot write the file.
var errReadOnly = fmt.Errorf("the file or its directory cannot be written: %w", fs.ErrPermission)

// readPragma returns the value of a pragma as text.
func readPragma(ctx context.Context, c driver.QueryerContext, name string) (value string, err error) {
	rows, err := c.QueryContext(ctx, "PRAGMA "+name, nil)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	row := make([]driver.Value, 1)
	if err := rows.Next(row); err != nil {
		if errors.Is(err, io.EOF) {
			return "", nil
		}
		return "", err
	}
	return fmt.Sprint(row[0]), nil
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
