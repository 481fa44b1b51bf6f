// Package adopt holds the handlers that docs/adopt.md shows, one for each way of
// talking to the database, so that they compile and do what the page says.
package adopt
