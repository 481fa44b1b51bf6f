// Package routertest runs a Watermill Router over a GoChannel for tests of middlewares,
// on SQLite and on PostgreSQL. Each test ends with the check of the invariants.
package routertest
