package sqlite

import (
	"context"
	"database/sql"
	_ "embed" // libraryVersion
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	driversqlite "modernc.org/sqlite"
)

// oldest is the first release of SQLite without the bug that could corrupt a file
// in WAL mode when two connections checkpoint at once
// (https://sqlite.org/wal.html#walresetbug).
var oldest = [3]int{3, 51, 3}

//go:embed library.sql
var libraryVersion string

// checkLibrary rejects a build with an older SQLite.
func checkLibrary(ctx context.Context) (err error) {
	k, err := driversqlite.NewConnector("file::memory:")
	if err != nil {
		return err
	}
	db := sql.OpenDB(k)
	defer func() { err = errors.Join(err, db.Close()) }()
	var version string
	if err := db.QueryRowContext(ctx, libraryVersion).Scan(&version); err != nil {
		return fmt.Errorf("ask for SQLite's version: %w", err)
	}
	return checkVersion(version)
}

func checkVersion(version string) error {
	var have [3]int
	for i, part := range strings.SplitN(version, ".", 3) {
		n, err := strconv.Atoi(part)
		if err != nil {
			return fmt.Errorf("SQLite's version is %q, which is no version", version)
		}
		have[i] = n
	}
	if slices.Compare(have[:], oldest[:]) < 0 {
		return fmt.Errorf("SQLite %s can corrupt a file in WAL mode; build with a modernc.org/sqlite that has %d.%d.%d or later",
			version, oldest[0], oldest[1], oldest[2])
	}
	return nil
}
