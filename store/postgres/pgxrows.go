package postgres

import (
	"errors"
	"iter"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/headrace/headrace/internal/attempt"
)

// pgxRows are rows of a pgxTx.
type pgxRows struct {
	pgx.Rows
	h *handlerTx
}

// Next implements pgx.Rows. It ends the rows after the handler has returned.
func (r *pgxRows) Next() (more bool) {
	if r.h.locked(func() error { more = r.Rows.Next(); return nil }) != nil {
		return false
	}
	return more
}

// Close implements pgx.Rows.
func (r *pgxRows) Close() { r.end() }

// end closes the rows, and reports whether their statement has failed.
func (r *pgxRows) end() (failed bool) {
	if r.h.locked(func() error { r.Rows.Close(); return nil }) != nil {
		return true
	}
	_, failed = errors.AsType[*pgconn.PgError](r.Rows.Err())
	return failed || r.Rows.Conn() != nil && r.Rows.Conn().IsClosed()
}

// copySource calls from in a goroutine of its own: pgx calls a source in another one than the
// handler's, where a panic would end the process, and CopyFrom would wait without end after
// runtime.Goexit. Both go on in the goroutine that calls end.
type copySource struct {
	from     pgx.CopyFromSource
	f        func() // to be called next
	panicked *attempt.Panic
	exited   bool
	next     func() (returned, ok bool)
	stop     func()
}

func newCopySource(from pgx.CopyFromSource) *copySource {
	s := &copySource{from: from}
	s.next, s.stop = iter.Pull(func(yield func(returned bool) bool) {
		ends := false
		defer func() {
			if !ends { // runtime.Goexit goes on when stop is called
				yield(false)
			}
		}()
		for more := true; more; more = yield(true) {
			s.panicked, _ = attempt.Catch(func() error { s.f(); return nil })
		}
		ends = true
	})
	return s
}

func (s *copySource) call(f func()) {
	if s.panicked == nil && !s.exited {
		s.f = f
		returned, _ := s.next()
		s.exited = !returned
	}
}

// end panics, or ends its goroutine, if from did.
func (s *copySource) end() {
	s.stop()
	if s.panicked != nil {
		panic(s.panicked)
	}
}

// Next implements pgx.CopyFromSource.
func (s *copySource) Next() (more bool) {
	s.call(func() { more = s.from.Next() })
	return more
}

// Values implements pgx.CopyFromSource.
func (s *copySource) Values() (values []any, err error) {
	s.call(func() { values, err = s.from.Values() })
	return values, err
}

// Err implements pgx.CopyFromSource.
func (s *copySource) Err() (err error) {
	s.call(func() { err = s.from.Err() })
	if s.panicked != nil || s.exited {
		return errors.New("the source of CopyFrom did not return")
	}
	return err
}

// failedRows are closed rows with that error.
func failedRows(err error) pgx.Rows {
	rows, _ := pgx.FailedBatchResults(new(pgx.Batch), err).Query()
	return rows
}

// pgxRow is the first of rows.
type pgxRow struct{ rows pgx.Rows }

// Scan implements pgx.Row.
func (r pgxRow) Scan(dest ...any) error {
	defer r.rows.Close()
	for _, d := range dest {
		if _, ok := d.(*pgtype.DriverBytes); ok {
			return errors.New("cannot scan into *pgtype.DriverBytes from QueryRow")
		}
	}
	if !r.rows.Next() {
		r.rows.Close()
		if err := r.rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	if err := r.rows.Scan(dest...); err != nil {
		return err
	}
	r.rows.Close()
	return r.rows.Err()
}

// pgxBatch are the results of a batch of a pgxTx.
type pgxBatch struct {
	pgx.BatchResults
	h *handlerTx
}

// Exec implements pgx.BatchResults.
func (b *pgxBatch) Exec() (tag pgconn.CommandTag, err error) {
	err = b.h.locked(func() error { tag, err = b.BatchResults.Exec(); return err })
	return tag, err
}

// Query implements pgx.BatchResults.
func (b *pgxBatch) Query() (pgx.Rows, error) {
	r := &pgxRows{h: b.h}
	err := b.h.locked(func() (err error) { r.Rows, err = b.BatchResults.Query(); return err })
	if r.Rows == nil {
		r.Rows = failedRows(err)
	}
	return r, err
}

// QueryRow implements pgx.BatchResults.
func (b *pgxBatch) QueryRow() pgx.Row {
	rows, _ := b.Query()
	return pgxRow{rows}
}

// Close implements pgx.BatchResults. Functions of the batch's queries must not use the
// transaction (headrace.ErrTxBusy).
func (b *pgxBatch) Close() error {
	err := b.close()
	b.h.n.Ran(err)
	return err
}

// end closes the results, and reports whether a statement has failed.
func (b *pgxBatch) end() (failed bool) { return b.close() != nil }

// close calls the functions of the batch's queries.
func (b *pgxBatch) close() error {
	return b.h.n.RawApart(func(any) error { return b.BatchResults.Close() })
}
