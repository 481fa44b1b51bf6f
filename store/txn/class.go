package txn

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
)

// Class is what a caller may decide on about a database error.
type Class int

// The classes.
const (
	// Other is every error that none of the classes below covers, a violated
	// constraint or a mistake in the SQL among them.
	Other Class = iota
	// Serialization: the transaction lost against another one (40001, 40P01,
	// SQLITE_BUSY_SNAPSHOT), or a prepared statement against a change of the schema
	// (0A000, 26000), and may be run again at once.
	Serialization
	// LockTimeout: a lock was not to be had in time (55P03, SQLITE_BUSY).
	LockTimeout
	// Connection: the connection is gone or was never made. Whose fault it is
	// takes a ping of the store to tell.
	Connection
	// Unavailable: the server answers, and cannot serve: out of connections, disk
	// or memory, shutting down, starting up, read-only.
	Unavailable
	// Aborted: an earlier statement had failed (25P02); the transaction can only
	// roll back.
	Aborted
)

// String names the class for logs.
func (c Class) String() string {
	names := [...]string{"other", "serialization", "lock timeout", "connection", "unavailable", "aborted"}
	if c < 0 || int(c) >= len(names) {
		return "unknown"
	}
	return names[c]
}

// SQLite's primary result codes that matter here (https://sqlite.org/rescode.html).
const (
	sqliteBusy         = 5
	sqliteLocked       = 6
	sqliteReadonly     = 8
	sqliteIOErr        = 10
	sqliteFull         = 13
	sqliteCantOpen     = 14
	sqliteBusySnapshot = 517
)

// Classify sorts err by its SQLState or SQLite result code. It is total: nil and
// everything unknown is Other. lib/pq and pgx both offer SQLState; modernc's
// SQLite offers Code. An error of another system that has such a method is sorted by
// it as well: whoever decides on a handler's error asks first whether the store
// answers.
func Classify(err error) Class {
	if err == nil {
		return Other
	}
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		return classOfState(state.SQLState())
	}
	var code interface{ Code() int }
	if errors.As(err, &code) {
		return classOfCode(code.Code())
	}
	if isConnection(err) {
		return Connection
	}
	return Other
}

// SQLStates of a prepared statement that has outlived what it was prepared for. The
// first stands for other things too that PostgreSQL does not support; those fail
// again when they are run again.
const (
	outdatedPlan     = "0A000"
	unknownStatement = "26000"
)

// isOutdated reports whether err is of a prepared statement that has to be prepared
// anew.
func isOutdated(err error) bool {
	var state interface{ SQLState() string }
	if !errors.As(err, &state) {
		return false
	}
	s := state.SQLState()
	return s == outdatedPlan || s == unknownStatement
}

func classOfState(s string) Class {
	switch s {
	case "40001", "40P01", outdatedPlan, unknownStatement:
		return Serialization
	case "55P03":
		return LockTimeout
	case "25P02":
		return Aborted
	case "57P01", "57P02", "57P05", "25P03", "25P04": // terminated backend, crash, idle kills
		return Connection
	case "57P03", "25006", "58030", "57P04":
		return Unavailable
	}
	if len(s) == 5 {
		switch s[:2] {
		case "08":
			return Connection
		case "53":
			return Unavailable
		}
	}
	return Other
}

func classOfCode(code int) Class {
	if code == sqliteBusySnapshot {
		return Serialization
	}
	switch code & 0xff {
	case sqliteBusy, sqliteLocked:
		return LockTimeout
	case sqliteReadonly, sqliteIOErr, sqliteFull, sqliteCantOpen:
		return Unavailable
	}
	return Other
}

func isConnection(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var op *net.OpError
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.As(err, &op)
}
