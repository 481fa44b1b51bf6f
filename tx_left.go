package headrace

import "database/sql"

// leftovers are the open rows and statements of a handler, and the state of its
// transaction. They belong to the handler's goroutine until it has returned.
type leftovers struct {
	rows []*sql.Rows
	row  []*sql.Row
	ends []func() (failed bool) // of rows and results of another library
	// touched says that it ran a statement that may have written, session that it may
	// have changed the session, and lasting that the change may outlast the transaction;
	// failed that one of its statements failed and was not undone, everFailed that one may
	// have failed, and unseen that one may have failed, or left rows open, out of sight;
	// cursors that one declared a cursor.
	touched, session, lasting, failed, everFailed, unseen, cursors bool
}

func (l *leftovers) ran(err error) {
	l.touched = true
	l.failedIf(err != nil)
}

// outOfSight is for statements that do not run through a Tx.
func (l *leftovers) outOfSight() {
	l.touched, l.session, l.everFailed, l.unseen = true, true, true, true
}

func (l *leftovers) failedIf(yes bool) {
	l.failed, l.everFailed = l.failed || yes, l.everFailed || yes
}

// prepared is for a statement whose runs and rows do not go through a Tx: one of them may
// fail, or stay open. database/sql closes the statement after its rows when the
// transaction ends. If it were closed before them, SQLite would use freed memory.
func (l *leftovers) prepared(err error) {
	l.ran(err)
	l.everFailed, l.unseen = true, true
}

func (l *leftovers) queried(rows *sql.Rows, err error) {
	l.ran(err)
	if err == nil {
		l.rows = append(l.rows, rows)
	}
}

func (l *leftovers) queriedRow(row *sql.Row) {
	l.ran(row.Err())
	l.row = append(l.row, row)
}

// CloseRows closes the rows that the handler has left open: on lib/pq the next statement on
// the connection would fail. It is for engines, which call it in the handler's goroutine
// after the handler has returned.
func (tx *Tx) CloseRows() { tx.left.close(opened{}) }

// opened counts rows.
type opened struct{ rows, row, ends int }

func (l *leftovers) open() opened { return opened{len(l.rows), len(l.row), len(l.ends)} }

// close closes the rows after the first ones.
func (l *leftovers) close(first opened) {
	for _, rows := range l.rows[first.rows:] {
		l.failedIf(rows.Close() != nil || rows.Err() != nil)
	}
	for _, row := range l.row[first.row:] {
		_ = row.Scan() // closes it; the error about missing destinations does not matter
	}
	for _, end := range l.ends[first.ends:] {
		l.failedIf(end())
	}
	l.rows, l.row, l.ends = l.rows[:first.rows], l.row[:first.row], l.ends[:first.ends]
}

// Touched reports whether the handler ran a statement that may have written; otherwise
// only its events must be undone. It is for engines.
func (tx *Tx) Touched() bool { return tx.left.touched }

// Failed reports whether the transaction may be unusable, which txn.Txn.Alive tells: one of
// the handler's statements failed and was not undone by Nested, so PostgreSQL has aborted
// it, or the handler ran statements out of sight. It is for engines.
func (tx *Tx) Failed() bool { return tx.left.failed || tx.left.unseen }

// EverFailed reports whether one of the handler's statements may have failed, even if
// Nested has undone it. If not, an error that looks like a database error comes from
// another database. It is for engines.
func (tx *Tx) EverFailed() bool { return tx.left.everFailed }

// SessionChanged reports whether the handler may have changed the session: see
// txn.Txn.Restore. It is for engines.
func (tx *Tx) SessionChanged() bool { return tx.left.session }

// SessionOutlasts reports whether such a change may outlast the transaction, so that its
// connection must not be used again. It is for engines.
func (tx *Tx) SessionOutlasts() bool { return tx.left.lasting }

// LeavesCursors reports whether the handler of tx may have left a cursor open, under a name
// that the next handler of its transaction may want. It is for engines.
func LeavesCursors(tx *Tx) bool { return tx.left.cursors && !tx.o.Alone }
