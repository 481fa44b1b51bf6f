// Package outage keeps an outage of the database to few lines of the log.
//
// # Nouns
//
// A [Part] is regular work that needs the database, such as a beat or a look for requests.
// It tells how each try went. [Logger] makes a logger that knows whether the database is
// away.
//
// # Rules
//
// While the database is away, its absence is logged once, by the consumer, and the failures
// of the parts are at level debug. A part that fails for longer while the database works, as
// without a grant, is logged once, and again when it works.
package outage
