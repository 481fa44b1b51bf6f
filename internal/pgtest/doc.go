// Package pgtest gives a test its own corner of a real PostgreSQL server.
//
//   - [Open] is what most tests want: a fresh schema and a handle on it.
//   - [New] makes the schema alone, for a test that opens its own handles with [OpenDB].
//   - [Spares] are schemas that tests give back, emptied, for tests to come: package pgstore has those of our tables.
//   - [NewDatabase] makes a whole database, for a test that migrates, drops or counts sessions.
//   - [ShiftClock] has the clock of a store run ahead, for a test of schedules and windows.
//
// The server is the one that the environment variable HEADRACE_TEST_POSTGRES names, a URL such as
// postgres://postgres@127.0.0.1:5432/headrace?sslmode=disable; `make test` sets it. Where it is unset the
// calling test is skipped, with CI=true it fails: a skipped test proves nothing.
//
// Whatever was made is dropped when the test ends, after the handles of [OpenDB] are closed; spare schemas stay on the server, and
// their names in its schema headrace_spares. Every name is random, so parallel tests, packages and processes can share one server. A handle opens at most
// [MaxOpenConns] connections unless the test says otherwise, because the server's are shared too.
//
// Only tests, and the suites that tests call, may import this package.
package pgtest
