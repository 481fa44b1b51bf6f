package txn_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lib/pq"

	"github.com/headrace/headrace/store/txn"
)

// TRAPS "Databases": classes by SQLState and code, never by text. DESIGN §3 Judge.
//
//evidence:classes
func TestClassify(t *testing.T) {
	for want, errs := range map[txn.Class][]error{
		txn.Other: {
			nil, io.ErrShortWrite, errors.New("40001 deadlock detected"), stateError("23505"), stateError("22021"), stateError("42P01"),
			stateError("57014"), stateError(""), stateError("08"), stateError("XX000"), stateError("25P01"), codeError(0), codeError(1), codeError(19), codeError(2067),
			context.Canceled, context.DeadlineExceeded,
			fmt.Errorf("%w: %w", context.DeadlineExceeded, driver.ErrBadConn), // an expired attempt is a timeout, not an outage
		},
		txn.Serialization: {
			stateError("40001"), stateError("40P01"), &pq.Error{Code: "40001"}, &pgconn.PgError{Code: "40P01"}, codeError(517),
			fmt.Errorf("claim: %w", stateError("40001")), errors.Join(io.EOF, stateError("40P01")), stateError("0A000"), stateError("26000"),
		},
		txn.LockTimeout: {stateError("55P03"), codeError(5), codeError(261), codeError(6), codeError(262)},
		txn.Connection: {
			driver.ErrBadConn, sql.ErrConnDone, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, &net.OpError{Op: "dial", Err: io.ErrShortBuffer},
			stateError("08006"), stateError("08P01"), stateError("57P01"), stateError("57P02"), stateError("57P05"), stateError("25P03"), stateError("25P04"),
			fmt.Errorf("exec: %w", driver.ErrBadConn),
		},
		txn.Unavailable: {
			stateError("53300"), stateError("53100"), stateError("53200"), stateError("57P03"), stateError("57P04"), stateError("25006"), stateError("58030"),
			codeError(8), codeError(10), codeError(13), codeError(14), codeError(10 | 4<<8),
		},
		txn.Aborted: {stateError("25P02")},
		txn.Exists:  {stateError("42P03"), stateError("42P05"), stateError("42P07"), &pq.Error{Code: "42710"}},
	} {
		for _, err := range errs {
			if got := txn.Classify(err); got != want {
				t.Errorf("%v is of class %v, want %v", err, got, want)
			}
		}
	}
}

func TestNotPermitted(t *testing.T) {
	for want, errs := range map[bool][]error{
		true:  {stateError("42501"), stateError("28000"), fmt.Errorf("open: %w", &pq.Error{Code: "28P01"}), &pgconn.PgError{Code: "42501"}, codeError(8), codeError(3), codeError(23)},
		false: {nil, io.EOF, stateError("42P01"), stateError("53300"), codeError(5), codeError(14)},
	} {
		for _, err := range errs {
			if got := txn.NotPermitted(err); got != want {
				t.Errorf("%v: %t, want %t", err, got, want)
			}
		}
	}
}

func TestClassString(t *testing.T) {
	for c, want := range map[txn.Class]string{txn.Other: "other", txn.LockTimeout: "lock timeout", txn.Aborted: "aborted", -1: "unknown", 99: "unknown"} {
		if c.String() != want {
			t.Errorf("class %d is %q, want %q", int(c), c, want)
		}
	}
}
