// Package store is the contract between the engines and the databases: store/postgres and
// store/sqlite implement it, and consumer, outbox/relay, dlq and the command use it.
//
// # Rules
//
// The interfaces for the rows are in the packages of their types (inbox.Store,
// backlog.Store, outbox.Store, dlq.Store); this package only combines them with the
// transactions. Drivers never call engines; engines never see SQL.
//
// Opening a store never changes the schema. It checks the version, and an error
// that matches [ErrSchema] says what to run.
package store
