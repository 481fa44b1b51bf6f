// Package answer says how the pages answer an error.
//
// # Rules
//
// What a person can mend says how, and does not go into the log. A database that does not answer in time, or is not
// reachable, is 503: of a GET nothing was done, and of anything else nothing is known.
package answer
