// Package sqlstore contains the common part of the drivers of SQL databases: the tables
// of a store. queries and checks here are the statements that read the same in every dialect; each driver
// has the others in its own, under the same names.
//
// # Nouns
//
// [Tables] are the stores of each concept (inbox, backlog, …): types whose methods are
// those of the concept's interface, on a [sqlrun.Table]. Operations that only one database
// has, such as its claim or its insert of events, are in the driver itself.
//
// # Rules
//
// A statement has the same arguments in the same order in both dialects, except for many
// rows: each driver expands those in its way (see sqlrun.Driver.Many). A statement may omit
// arguments at the end of the list. One statement of a dialect may need several in the
// other: then a field of the statements is optional.
package sqlstore
