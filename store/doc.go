// Package store is the contract between the engines and the databases: what
// store/postgres and store/sqlite implement, and what consumer, outbox/relay, dlq
// and the command use.
//
// # Rules
//
// The interfaces for the rows stand beside the words they use (inbox.Store,
// backlog.Store, outbox.Store, dlq.Store); this package only brings them together
// with the transactions. Drivers never call engines; engines never see SQL.
//
// Opening a store never changes the schema. It checks the version, and an error
// that matches [ErrSchema] says what to run.
package store
