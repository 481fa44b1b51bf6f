package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// answerTime is how long a statement may take after its context has ended; the driver
	// makes the server cancel it meanwhile. Then its connection is closed.
	answerTime = time.Second
	// cutTime is how long a closed connection may take to end its statement.
	cutTime = 500 * time.Millisecond
	// badTimes is how often a statement is begun if the pool's connections turn out to be
	// dead, as in database/sql.
	badTimes = 3
)

// errSilent is the error of a statement without an answer.
var errSilent = errors.New("the database does not answer, and the outcome is unknown")

// asking runs statements so that each call returns, whatever the driver does. lib/pq
// waits for an answer after the context has ended, as long as TCP does (a quarter of an
// hour), and it ignores the context in the handshake.
type asking struct {
	db   *sql.DB
	left atomic.Int64 // abandoned statements that still run
}

// reply is the result of one call.
type reply[T any] struct {
	value T
	err   error
}

// ask runs f on a connection of its own, and again on another one if that was dead. It
// returns at the latest answerTime and cutTime after the end of limit or ctx. A call that
// still runs then is abandoned, and counted until the driver gives it up.
func ask[T any](ctx context.Context, a *asking, limit time.Duration, f func(context.Context, *sql.Conn) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	answered := make(chan reply[T], 1)
	var l line
	var waiting atomic.Bool
	waiting.Store(true)
	go func() {
		defer cancel()
		var r reply[T]
		for range badTimes {
			if r.value, r.err = once(ctx, a.db, &l, f); !errors.Is(r.err, driver.ErrBadConn) {
				break
			}
		}
		answered <- r
		if !waiting.CompareAndSwap(true, false) {
			a.left.Add(-1)
		}
	}()
	select {
	case r := <-answered:
		return r.value, r.err
	case <-ctx.Done():
	}
	if r, ok := within(answered, answerTime); ok {
		return r.value, r.err
	}
	l.cut()
	r, ok := within(answered, cutTime)
	switch {
	case ok && r.err == nil:
		return r.value, nil
	case !ok && waiting.CompareAndSwap(true, false):
		a.left.Add(1)
	}
	var none T
	return none, fmt.Errorf("%w: %w", errSilent, context.Cause(ctx))
}

func within[T any](answered <-chan reply[T], d time.Duration) (r reply[T], ok bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case r = <-answered:
		return r, true
	case <-timer.C:
		return r, false
	}
}

// once runs f on a connection of the pool, and returns the connection.
func once[T any](ctx context.Context, db *sql.DB, l *line, f func(context.Context, *sql.Conn) (T, error)) (value T, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return value, fmt.Errorf("option DB gives no connection: %w", withoutURL(err))
	}
	defer func() { _ = conn.Close() }()
	if err := conn.Raw(l.hold); err != nil {
		return value, err
	}
	value, err = f(ctx, conn)
	if l.drop() { // closed, or about to be: keep it out of the pool
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	return value, err
}

// withoutURL returns err, unless it contains a URL, as lib/pq's errors do: that may
// contain a password.
func withoutURL(err error) error {
	if told := new(url.Error); errors.As(err, &told) {
		return errors.New("its URL cannot be read (not shown: it may hold a password, whose % has to be written as %25)")
	}
	return err
}

// line is the driver's connection of a statement.
type line struct {
	mu   sync.Mutex
	conn io.Closer
	over bool // it is closed, or about to be
}

func (l *line) hold(conn any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn, _ = conn.(io.Closer)
	return nil
}

func (l *line) drop() (over bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn = nil
	return l.over
}

// cut closes the connection under a statement that waits on it, for which a driver's
// connection is not designed; lib/pq's then ends its wait. cut does not wait for the
// close, which may block while it sends its last message.
func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if conn := l.conn; conn != nil {
		l.over = true
		go func() { _ = conn.Close() }()
	}
}

// exec runs a statement, and returns how many rows it affected, -1 if the driver does not
// know.
func (a *asking) exec(ctx context.Context, limit time.Duration, statement string, args ...any) (int64, error) {
	return ask(ctx, a, limit, func(ctx context.Context, conn *sql.Conn) (int64, error) {
		done, err := conn.ExecContext(ctx, statement, args...)
		if err != nil {
			return 0, err
		}
		n, err := done.RowsAffected()
		if err != nil {
			n = -1
		}
		return n, nil
	})
}
