// Package sqljobs implements the interfaces of package job, for all SQL databases.
//
// # Rules
//
// It decides nothing: what a job does next is said by job.Decide. As in package sqlrun, a name that
// does not fit a column is an error, and text for people is cleaned and cut.
package sqljobs
