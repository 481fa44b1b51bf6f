package txn

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"
)

// Class is the kind of a database error, for callers to decide on.
type Class int

// The classes.
const (
	// Other is every error outside of the classes below, for example a violated
	// constraint or a mistake in the SQL.
	Other Class = iota
	// Serialization: the transaction lost against another one (40001, 40P01,
	// SQLITE_BUSY_SNAPSHOT), or a prepared statement against a change of the schema
	// (0A000, 26000). It may be run again at once.
	Serialization
	// LockTimeout: a lock was not available in time (55P03, SQLITE_BUSY).
	LockTimeout
	// Connection: the connection is lost or was never made. A ping of the store tells
	// whether the database or the connection failed.
	Connection
	// Unavailable: the server answers but cannot work: out of connections, disk or
	// memory, shutting down, starting up, read-only.
	Unavailable
	// Aborted: an earlier statement had failed (25P02); the transaction can only
	// roll back.
	Aborted
	// Exists: an object of that name exists already (42P03, 42P05, 42P07, 42710): a cursor, a
	// prepared statement, a table. It may be a leftover of the transaction or the session.
	Exists
)

// String names the class for logs.
func (c Class) String() string {
	names := [...]string{"other", "serialization", "lock timeout", "connection", "unavailable", "aborted", "exists"}
	if c < 0 || int(c) >= len(names) {
		return "unknown"
	}
	return names[c]
}

// Conflict reports whether other transactions made this one fail.
func (c Class) Conflict() bool { return c == Serialization || c == LockTimeout }

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

// serverError is an error of PostgreSQL, of whichever driver.
type serverError interface {
	error
	SQLState() string
}

// sqliteError is an error of SQLite.
type sqliteError interface {
	error
	Code() int
}

// Classify sorts err by its SQLState or SQLite result code. nil and every unknown error
// are Other. lib/pq and pgx both offer SQLState; modernc's SQLite offers Code. It also
// sorts errors of other systems that have such a method, so code that decides on a
// handler's error first checks whether the store answers.
func Classify(err error) Class {
	if err == nil {
		return Other
	}
	if e, ok := errors.AsType[serverError](err); ok {
		return classOfState(e.SQLState())
	}
	if e, ok := errors.AsType[sqliteError](err); ok {
		return classOfCode(e.Code())
	}
	if isConnection(err) {
		return Connection
	}
	return Other
}

// SQLStates of an outdated prepared statement. PostgreSQL also uses the first one for
// features that it does not support; those fail again in the next run.
const (
	outdatedPlan     = "0A000"
	unknownStatement = "26000"
)

// Outdated reports whether err is of a prepared statement that must be prepared again.
func Outdated(err error) bool {
	e, ok := errors.AsType[serverError](err)
	return ok && (e.SQLState() == outdatedPlan || e.SQLState() == unknownStatement)
}

func classOfState(s string) Class {
	switch s {
	case "40001", "40P01", outdatedPlan, unknownStatement:
		return Serialization
	case "55P03":
		return LockTimeout
	case "25P02":
		return Aborted
	case "42P03", "42P05", "42P07", "42710":
		return Exists
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

// SQLite's primary result codes of what the file or the process may not do.
const (
	sqlitePerm = 3
	sqliteAuth = 23
)

// NotPermitted reports whether the database refused err's statement or connection because
// this login may not do it: PostgreSQL's 42501 and class 28, SQLite's PERM, AUTH and
// READONLY.
func NotPermitted(err error) bool {
	if e, ok := errors.AsType[serverError](err); ok {
		return e.SQLState() == "42501" || strings.HasPrefix(e.SQLState(), "28")
	}
	if e, ok := errors.AsType[sqliteError](err); ok {
		code := e.Code() & 0xff
		return code == sqlitePerm || code == sqliteAuth || code == sqliteReadonly
	}
	return false
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
