// Package audit defines the record of what people did to what headrace stores.
//
// # Nouns
//
// A [Row] says who did what to a subject, and why. A subject has a kind, and an id or a name.
//
// # Rules
//
// A row is written in the transaction of what it tells of. Rows are only added: the roles of
// headrace migrate grants cannot change them. The rows of a letter are removed with it;
// package dlq writes and reads them too, as its trail.
//
// The person's name is what that person says. The login is the database's,
// and cannot be chosen.
package audit
