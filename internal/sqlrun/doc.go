// Package sqlrun runs the statements of a SQL database: it builds their arguments, scans
// their rows, and gives each table its statements.
//
// # Nouns
//
// A [Driver] implements what differs between databases: transactions, how a statement
// gets many rows, sequences. A [Table] is a driver with the statements of one concept; its
// methods are in the packages sqlstore and sqlops, and in the drivers.
//
// # Rules
//
// A name that does not fit a column is an error, and is never cleaned; text for people is
// cleaned and cut. A time is scanned in the database's form, and returned in UTC.
package sqlrun
