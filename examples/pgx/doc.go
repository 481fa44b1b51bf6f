// Command pgx is a program on a pool of pgx: orders are placed in transactions of pgx, and
// a handler adds invoices with sqlc's code for pgx/v5, in the transaction of its message.
//
//	go run ./examples/pgx -dsn postgres://user@host:5432/database
//	scripts/test -- go run ./examples/pgx
//
// It makes its tables in that database, which should be empty; the second line starts a
// PostgreSQL for the run where none is named. Package db has the form that sqlc generates from
// its schema.sql and queries.sql for sql_package pgx/v5; it was written by hand.
package main
