// Package cluster starts PostgreSQL servers of the torture's own, which it may stop,
// crash and throw away, and a [Proxy] before each that can swallow the answer to a
// COMMIT.
//
// The programs are those of HEADRACE_POSTGRES_BIN, or the newest that is installed. As
// root the server runs as the user postgres. It is as durable as in production.
package cluster
